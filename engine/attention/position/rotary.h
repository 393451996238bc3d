#pragma once

#include <cstdint>

namespace attn {

/// The features of a head that rotary positions are made for: int(width * fraction), as in transformers. Their
/// frequencies are base^(-2 m / features); if they are odd, the last pair takes one feature more.
/// @param width of a head, D  @return 0 to the largest even number that is at most the width
int64_t rotatedFeatures(double fraction, int64_t width);

} // namespace attn
