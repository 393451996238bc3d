#pragma once

#include <span>
#include <vector>

namespace attn {

/// The index of the matching token of `b` for each token of `a`, or -1. Tokens of a longest common subsequence match.
/// If `a` and `b` have the same number of tokens between two such pairs, these match in order. With more than
/// kMostAligned tokens, only positions count.
/// @source Hirschberg 1975, "A linear space algorithm for computing maximal common subsequences", section 2: the
///         quadratic table
std::vector<int> alignTokens(std::span<const int> a, std::span<const int> b);

inline constexpr size_t kMostAligned = 1024; ///< largest number of tokens of each

} // namespace attn
