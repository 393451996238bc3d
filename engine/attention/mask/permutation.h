#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// Where each of 0 .. n-1 stands in a list of n numbers.
/// @throws Error if one is missing, repeated or beyond n - 1; names it
std::vector<int64_t> inversePermutation(std::span<const double> order);

} // namespace attn
