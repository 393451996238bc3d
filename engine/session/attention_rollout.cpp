#include "engine/session/attention_rollout.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

std::vector<float> fused(std::span<const float> pattern, int64_t heads, int64_t cells, HeadFusion fusion) {
    std::vector<float> map(pattern.begin(), pattern.begin() + cells);
    for (int64_t head = 1; head < heads; ++head)
        for (int64_t cell = 0; cell < cells; ++cell) {
            float& sum = map[static_cast<size_t>(cell)];
            const float weight = pattern[static_cast<size_t>(head * cells + cell)];
            sum = fusion == HeadFusion::Mean      ? sum + weight
                  : fusion == HeadFusion::Maximum ? std::max(sum, weight)
                                                  : std::min(sum, weight);
        }
    if (fusion == HeadFusion::Mean)
        for (float& weight : map) weight /= static_cast<float>(heads);
    return map;
}

/// The lowest cells become 0; of equals, those that come first.
void discardLowest(std::vector<float>& map, double share) {
    const auto count = static_cast<size_t>(share * static_cast<double>(map.size()));
    std::vector<size_t> order(map.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                     [&](size_t a, size_t b) { return map[a] != map[b] ? map[a] < map[b] : a < b; });
    for (size_t i = 0; i < count; ++i) map[order[i]] = 0;
}

/// Half of what passes is the token itself.
void addResidual(std::vector<float>& map, int64_t tokens) {
    for (int64_t row = 0; row < tokens; ++row) {
        const auto begin = map.begin() + row * tokens;
        begin[row] += 1;
        double sum = 0;
        for (int64_t column = 0; column < tokens; ++column) sum += static_cast<double>(begin[column]);
        for (int64_t column = 0; column < tokens; ++column) begin[column] = static_cast<float>(begin[column] / sum);
    }
}

std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, int64_t tokens) {
    std::vector<float> result(a.size(), 0);
    for (int64_t row = 0; row < tokens; ++row)
        for (int64_t middle = 0; middle < tokens; ++middle) {
            const float weight = a[static_cast<size_t>(row * tokens + middle)];
            if (weight == 0) continue;
            const float* from = b.data() + middle * tokens;
            float* to = result.data() + row * tokens;
            for (int64_t column = 0; column < tokens; ++column) to[column] += weight * from[column];
        }
    return result;
}

void requirePattern(std::span<const float> pattern, int64_t heads, int64_t tokens) {
    if (static_cast<int64_t>(pattern.size()) == heads * tokens * tokens) return;
    throw Error({.what = fmt::format("a pattern has {} numbers, not {} heads of {} x {}", pattern.size(), heads, tokens,
                                     tokens),
                 .where = "rollout",
                 .hint = "every layer must have the same tokens and form a pattern"});
}

} // namespace

std::vector<float> gradientRollout(std::span<const std::span<const float>> patterns,
                                   std::span<const std::span<const float>> gradients, int64_t heads, int64_t tokens) {
    if (gradients.size() != patterns.size())
        throw Error(
            {.what = fmt::format("{} layers have a gradient and {} a pattern", gradients.size(), patterns.size()),
             .where = "rollout",
             .hint = "give one of each for every layer"});
    const auto cells = static_cast<size_t>(tokens * tokens);
    std::vector<float> relevance(cells, 0);
    for (int64_t token = 0; token < tokens; ++token) relevance[static_cast<size_t>(token * tokens + token)] = 1;
    for (size_t layer = 0; layer < patterns.size(); ++layer) {
        const std::span<const float> pattern = patterns[layer], gradient = gradients[layer];
        requirePattern(pattern, heads, tokens);
        requirePattern(gradient, heads, tokens);
        std::vector<float> map(cells, 0);
        for (size_t at = 0; at < pattern.size(); ++at)
            map[at % cells] += std::max(0.0f, pattern[at] * gradient[at]) / static_cast<float>(heads);
        const std::vector<float> added = product(map, relevance, tokens);
        for (size_t cell = 0; cell < cells; ++cell) relevance[cell] += added[cell];
    }
    return relevance;
}

std::vector<float> attentionRollout(std::span<const std::span<const float>> patterns, int64_t heads, int64_t tokens,
                                    const RolloutOptions& options) {
    if (!(options.discard >= 0 && options.discard < 1))
        throw Error({.what = fmt::format("{} of the cells cannot be discarded", options.discard),
                     .where = "discard",
                     .hint = "give a share from 0 to below 1"});
    const int64_t cells = tokens * tokens;
    std::vector<float> flow;
    for (const std::span<const float> pattern : patterns) {
        requirePattern(pattern, heads, tokens);
        std::vector<float> map = fused(pattern, heads, cells, options.fusion);
        discardLowest(map, options.discard);
        addResidual(map, tokens);
        flow = flow.empty() ? std::move(map) : product(map, flow, tokens);
    }
    return flow;
}

} // namespace attn
