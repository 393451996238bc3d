#pragma once

#include <cstdint>

namespace attn {

/// sin(position / base^(2m / width)) for feature 2m, and the cosine of the same angle for feature 2m + 1.
/// @source Vaswani et al. 2017, arXiv:1706.03762, section 3.5
double sinusoid(int64_t position, int64_t feature, int64_t width, double base);

} // namespace attn
