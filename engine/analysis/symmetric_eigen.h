#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// The eigendecomposition V diag(values) V^T of a symmetric matrix.
struct SymmetricEigen {
    std::vector<double> values;  ///< [n], falling
    std::vector<double> vectors; ///< [n,n]: row i is the eigenvector of values[i]; rows are orthonormal
};

/// Computes the eigendecomposition.
/// @param matrix [n,n]; only its lower half is read
/// @throws Error if it is not square, or has NaN or infinite values
/// @source Golub and Van Loan 2013, "Matrix Computations", 4th edition, sections 8.3.1 (Householder tridiagonalisation)
///         and 8.3.3 (implicit QR steps with Wilkinson's shift)
SymmetricEigen symmetricEigen(std::span<const double> matrix, int64_t n);

} // namespace attn
