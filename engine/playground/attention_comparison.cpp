#include "engine/playground/attention_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

/// Tolerance for float32 sums of a few hundred weights.
constexpr double kSumTolerance = 1e-3;

float orZero(float value) { return std::isnan(value) ? 0.0f : value; }

PlaygroundMap difference(const PlaygroundMap& a, const PlaygroundMap& b) {
    PlaygroundMap result = a;
    // A hidden weight counts as zero; a hidden score has no value.
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

/// Whether every row with visible keys is a distribution.
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

double jensenShannonBits(std::span<const float> p, std::span<const float> q) {
    double bits = 0, sums = 0;
    for (size_t i = 0; i < p.size(); ++i) {
        const auto a = static_cast<double>(orZero(p[i])), b = static_cast<double>(orZero(q[i])), middle = (a + b) / 2;
        if (a > 0) bits += a * std::log2(a / middle) / 2;
        if (b > 0) bits += b * std::log2(b / middle) / 2;
        sums += a + b;
    }
    return sums > 0 ? std::clamp(bits, 0.0, 1.0) : std::numeric_limits<double>::quiet_NaN();
}

PlaygroundMap divergenceOf(const PlaygroundMap& a, const PlaygroundMap& b) {
    PlaygroundMap result{
        .name = "divergence", .heads = a.heads, .planes = 1, .rows = 1, .columns = a.rows, .values = {}};
    const auto columns = static_cast<size_t>(a.columns);
    for (size_t begin = 0; begin < a.values.size(); begin += columns)
        result.values.push_back(static_cast<float>(jensenShannonBits(std::span(a.values).subspan(begin, columns),
                                                                     std::span(b.values).subspan(begin, columns))));
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
