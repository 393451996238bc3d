#pragma once

#include <cstdint>

namespace attn {

/// sin(position / base^(2m / width)) for feature 2m, and the cosine of the same angle for feature 2m + 1.
/// @source Vaswani et al. 2017, arXiv:1706.03762, section 3.5
double sinusoid(int64_t position, int64_t feature, int64_t width, double base);

/// The same numbers, the sines of all pairs before the cosines.
/// @source transformers 4, modeling_marian.py, MarianSinusoidalPositionalEmbedding
inline double sinusoidInHalves(int64_t position, int64_t feature, int64_t width, double base) {
    const int64_t sines = (width + 1) / 2;
    return sinusoid(position, feature < sines ? 2 * feature : 2 * (feature - sines) + 1, width, base);
}

} // namespace attn
