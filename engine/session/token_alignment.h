#pragma once

#include <span>
#include <vector>

namespace attn {

/// For each token of `a` the index of the one of `b` that stands for it, or -1. Tokens of a longest common subsequence
/// belong together; where as many lie between two pairs in both, each stands for the one in its place. Beyond
/// kMostAligned tokens the position alone counts.
/// @source Hirschberg 1975, "A linear space algorithm for computing maximal common subsequences", section 2: the
///         quadratic table
std::vector<int> alignTokens(std::span<const int> a, std::span<const int> b);

inline constexpr size_t kMostAligned = 1024; ///< tokens of either

} // namespace attn
