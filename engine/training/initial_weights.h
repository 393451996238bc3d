#pragma once

#include "engine/core/shape.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// Initial values of a parameter, which depend only on the seed and its name. Matrices are normal with a standard
/// deviation of `initialDeviation` (0.02 in GPT-2), divided by sqrt(2 * layers) if they write to the residual stream.
/// Norms are 1 and biases 0.
/// @return dense values
/// @source Radford et al. 2019 (GPT-2), section 2.3
std::vector<float> initialWeights(int64_t layers, const std::string& parameter, const Shape& shape,
                                  double initialDeviation, uint64_t seed);

} // namespace attn
