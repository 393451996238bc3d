#pragma once

#include "engine/core/shape.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// Weights to begin with: matrices normal with this deviation (0.02 in GPT-2), those that write into the residual
/// stream divided by sqrt(2 layers); norms 1, biases 0. Each depends on the seed and its name alone. @return dense
/// @source Radford et al. 2019 (GPT-2), section 2.3
std::vector<float> initialWeights(int64_t layers, const std::string& parameter, const Shape& shape,
                                  double initialDeviation, uint64_t seed);

} // namespace attn
