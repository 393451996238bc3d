#include "engine/core/random_rows.h"

#include "engine/core/rng.h"

#include <cmath>
#include <numbers>

namespace attn {
namespace {

/// Box and Muller's transform of two uniform numbers.
double normal(uint64_t seed, uint64_t index) {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(seed, 2 * index)));
    return radius * std::cos(2 * std::numbers::pi * uniform(seed, 2 * index + 1));
}

} // namespace

std::vector<float> gaussianRows(int64_t rows, int64_t width, double deviation, uint64_t seed, int64_t first) {
    std::vector<float> values;
    for (int64_t i = first * width; i < rows * width; ++i)
        values.push_back(static_cast<float>(deviation * normal(seed, static_cast<uint64_t>(i))));
    return values;
}

std::vector<float> orthogonalRows(int64_t rows, int64_t width, uint64_t seed) {
    std::vector<float> values;
    std::vector<std::vector<double>> group;
    for (int64_t row = 0; row < rows; ++row) {
        if (row % width == 0) group.clear();
        std::vector<double> x(static_cast<size_t>(width));
        double length = 0;
        for (size_t d = 0; d < x.size(); ++d) {
            x[d] = normal(seed, static_cast<uint64_t>(row) * static_cast<uint64_t>(width) + d);
            length += x[d] * x[d];
        }
        length = std::sqrt(length);
        for (const auto& other : group) { // Gram and Schmidt
            double along = 0;
            for (size_t d = 0; d < x.size(); ++d) along += x[d] * other[d];
            for (size_t d = 0; d < x.size(); ++d) x[d] -= along * other[d];
        }
        double left = 0;
        for (double value : x) left += value * value;
        for (double& value : x) value /= std::sqrt(left);
        group.push_back(x);
        for (double value : x) values.push_back(static_cast<float>(length * value));
    }
    return values;
}

} // namespace attn
