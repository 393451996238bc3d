#include "engine/training/initial_weights.h"

#include "engine/core/rng.h"

#include <cmath>
#include <numbers>

namespace attn {

std::vector<float> initialWeights(int64_t layers, const std::string& parameter, const Shape& shape,
                                  double initialDeviation, uint64_t seed) {
    std::vector<float> values(static_cast<size_t>(shape.elements()), 0.0f);
    if (shape.rank() == 1) {
        const bool isNormWeight = parameter.ends_with(".w");
        for (float& value : values) value = isNormWeight ? 1.0f : 0.0f;
        return values;
    }
    const bool writesResidual = parameter.ends_with("attn.W_O") || parameter.ends_with("mlp.W_out");
    const double deviation =
        writesResidual ? initialDeviation / std::sqrt(2.0 * static_cast<double>(layers)) : initialDeviation;
    const uint64_t key = streamSeed(seed, parameter);
    for (size_t i = 0; i < values.size(); ++i) { // Box and Muller 1958
        const double radius = std::sqrt(-2 * std::log(1 - uniform(key, 2 * i))),
                     angle = 2 * std::numbers::pi * uniform(key, 2 * i + 1);
        values[i] = static_cast<float>(deviation * radius * std::cos(angle));
    }
    return values;
}

} // namespace attn
