#pragma once

#include <cmath>
#include <vector>

namespace attn::test {

/// The largest difference of two lists of numbers; infinite if their sizes differ or one holds NaN.
/// @param perSize  relative tolerance: the difference is divided by 1 + perSize |expected|
template <class Found = std::vector<float>, class Expected = std::vector<float>>
double farthest(const Found& found, const Expected& expected, double perSize = 0) {
    if (found.size() != expected.size()) return INFINITY;
    double worst = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        const auto a = static_cast<double>(found[i]), b = static_cast<double>(expected[i]);
        const double difference = std::abs(a - b) / (1 + perSize * std::abs(b));
        worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    }
    return worst;
}

} // namespace attn::test
