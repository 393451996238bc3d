#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// A symmetric matrix as V diag(values) V^T.
struct SymmetricEigen {
    std::vector<double> values;  ///< [n], falling
    std::vector<double> vectors; ///< [n,n]: row i belongs to values[i]; of length 1, at right angles to the others
};

/// @param matrix [n,n]; its lower half is read
/// @throws Error if it is not square, or holds what is no number
/// @source Golub and Van Loan 2013, "Matrix Computations", 4th edition, sections 8.3.1 (Householder's reduction to
/// three
///         diagonals) and 8.3.3 (implicit QR steps with Wilkinson's shift)
SymmetricEigen symmetricEigen(std::span<const double> matrix, int64_t n);

} // namespace attn
