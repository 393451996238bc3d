#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// The place of each number 0 .. n-1 in a list of n numbers. @return [n]
/// @throws Error naming the number that is repeated or beyond n - 1
std::vector<int64_t> inversePermutation(std::span<const double> order);

} // namespace attn
