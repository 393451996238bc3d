#pragma once

#include <cstdint>
#include <vector>

namespace attn {

/// Draws independent normal numbers of mean 0, the same ones for the same seed. @param first row to draw: those before
/// it are left out  @return [rows - first, width]
std::vector<float> gaussianRows(int64_t rows, int64_t width, double deviation, uint64_t seed, int64_t first = 0);

/// Draws rows that are orthogonal in groups of `width`; their lengths are distributed like those of normal rows.
/// @return [rows, width]
/// @source Choromanski et al. 2021, arXiv:2009.14794, section 2.4
std::vector<float> orthogonalRows(int64_t rows, int64_t width, uint64_t seed);

} // namespace attn
