#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// The directions in which rows of numbers differ most from their mean.
struct PrincipalComponents {
    std::vector<float> components; ///< [count, width]: of length 1, the largest of each one's numbers positive
    std::vector<double> shares;    ///< [count] of the variance, falling; all 0 where the rows are the same
};

/// @param rows  [n, width]
/// @param most  how many are asked for; there are no more than width, and n - 1
/// @throws Error as symmetricEigen()
PrincipalComponents principalComponents(std::span<const float> rows, int64_t width, int64_t most);

} // namespace attn
