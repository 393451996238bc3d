#include "engine/playground/attention_comparison.h"

#include "engine/inference/pattern_divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn {
namespace {

/// Tolerance for float32 sums of a few hundred weights.
constexpr double kSumTolerance = 1e-3;

float orZero(float value) { return std::isnan(value) ? 0.0f : value; }

PlaygroundMap difference(const PlaygroundMap& a, const PlaygroundMap& b) {
    PlaygroundMap result = a;
    // A hidden weight counts as 0. A hidden score is left out.
    const bool isWeights = a.name == "pattern";
    for (size_t i = 0; i < result.values.size(); ++i) {
        const bool isHidden = std::isnan(a.values[i]) && std::isnan(b.values[i]);
        result.values[i] =
            isWeights && !isHidden ? orZero(a.values[i]) - orZero(b.values[i]) : a.values[i] - b.values[i];
    }
    return result;
}

std::optional<AttentionComparison::OutputError> outputError(const PlaygroundMap& a, const PlaygroundMap& b) {
    double squares = 0, sum = 0, largest = 0;
    for (size_t i = 0; i < a.values.size(); ++i) {
        const double value = a.values[i], error = std::abs(value - static_cast<double>(b.values[i]));
        squares += value * value;
        sum += error;
        largest = std::max(largest, error);
    }
    const auto count = static_cast<double>(a.values.size());
    const double rms = std::sqrt(squares / count);
    if (!(rms > 0)) return {};
    return AttentionComparison::OutputError{sum / count / rms, largest / rms};
}

/// Whether every row with visible keys sums to 1.
bool hasDistributions(const PlaygroundMap& pattern) {
    for (size_t row = 0; row * static_cast<size_t>(pattern.columns) < pattern.values.size(); ++row) {
        double sum = 0;
        for (const float weight :
             std::span(pattern.values)
                 .subspan(row * static_cast<size_t>(pattern.columns), static_cast<size_t>(pattern.columns))) {
            if (weight < 0) return false;
            sum += static_cast<double>(orZero(weight));
        }
        if (sum != 0 && std::abs(sum - 1) > kSumTolerance) return false;
    }
    return true;
}

PlaygroundMap divergenceOf(const PlaygroundMap& a, const PlaygroundMap& b) {
    PlaygroundMap result{
        .name = "divergence", .heads = a.heads, .planes = 1, .rows = 1, .columns = a.rows, .values = {}};
    const auto columns = static_cast<size_t>(a.columns);
    std::vector<double> p(columns), q(columns);
    for (size_t begin = 0; begin < a.values.size(); begin += columns) {
        for (size_t i = 0; i < columns; ++i) {
            p[i] = static_cast<double>(orZero(a.values[begin + i]));
            q[i] = static_cast<double>(orZero(b.values[begin + i]));
        }
        const double sums = std::accumulate(p.begin(), p.end(), 0.0) + std::accumulate(q.begin(), q.end(), 0.0);
        result.values.push_back(sums > 0 ? static_cast<float>(jensenShannonBits(p, q))
                                         : std::numeric_limits<float>::quiet_NaN());
    }
    return result;
}

} // namespace

AttentionComparison compare(std::span<const PlaygroundMap> a, std::span<const PlaygroundMap> b) {
    AttentionComparison result;
    for (const PlaygroundMap& map : a)
        if (const PlaygroundMap* other = findMap(b, map.name); other && map.hasShapeOf(*other))
            result.differences.push_back(difference(map, *other));
    const PlaygroundMap *zA = findMap(a, "z"), *zB = findMap(b, "z");
    if (zA && zB && zA->hasShapeOf(*zB)) result.output = outputError(*zA, *zB);
    const PlaygroundMap *patternA = findMap(a, "pattern"), *patternB = findMap(b, "pattern");
    if (!patternA || !patternB)
        result.remark = !patternA && !patternB ? "neither A nor B forms a pattern, so only their outputs are compared"
                        : !patternA            ? "A forms no pattern, so only the outputs are compared"
                                               : "B forms no pattern, so only the outputs are compared";
    else if (!patternA->hasShapeOf(*patternB))
        result.remark = fmt::format(
            "A's pattern has {} heads of {} x {} and B's has {} heads of {} x {}; use the same sizes for both",
            patternA->heads, patternA->rows, patternA->columns, patternB->heads, patternB->rows, patternB->columns);
    else if (const bool isA = hasDistributions(*patternA); !isA || !hasDistributions(*patternB))
        result.remark =
            fmt::format("the rows of {}'s pattern are not distributions, so there is no divergence", isA ? "B" : "A");
    else
        result.divergence = divergenceOf(*patternA, *patternB);
    return result;
}

} // namespace attn
