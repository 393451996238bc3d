#pragma once

#include <cstdint>
#include <vector>

namespace attn {

/// Independent normal numbers, the same for the same seed. @return [rows, width]
std::vector<float> gaussianRows(int64_t rows, int64_t width, double deviation, uint64_t seed);

/// Rows that are orthogonal in groups of `width`, each as long as a normal row of its own would be.
/// @return [rows, width]
/// @source Choromanski et al. 2021, arXiv:2009.14794, section 2.4
std::vector<float> orthogonalRows(int64_t rows, int64_t width, uint64_t seed);

} // namespace attn
