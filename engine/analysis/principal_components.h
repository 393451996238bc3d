#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// Principal components: the directions in which rows differ most from their mean.
struct PrincipalComponents {
    std::vector<float> components; ///< [count, width] of length 1; the value with the largest magnitude is positive
    std::vector<double> shares;    ///< [count] shares of the variance, falling; all 0 if the rows are equal
};

/// Computes principal components.
/// @param rows  [n, width]
/// @param most  largest number of components; there are at most min(width, n - 1)
/// @throws Error if a value is NaN or infinite
PrincipalComponents principalComponents(std::span<const float> rows, int64_t width, int64_t most);

} // namespace attn
