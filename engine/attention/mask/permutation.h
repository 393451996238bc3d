#pragma once

#include "engine/attention/part.h"

namespace attn {

/// Where each of 0 .. n-1 stands in a list of n numbers.
/// @throws Error if one is missing, repeated or beyond n - 1; names it
std::vector<int64_t> inversePermutation(PartValues order);

} // namespace attn
