#include "engine/playground/playground_input.h"

#include "engine/attention/head_counts.h"
#include "engine/core/error.h"
#include "engine/core/random_rows.h"
#include "engine/core/rng.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

namespace attn {
namespace {

/// The first `tokens` rows of one head. @param values [heads, rows, width]
void appendHead(std::vector<float>& to, std::span<const float> values, int64_t head, int64_t rows, int64_t tokens,
                int64_t width) {
    const auto rowsOfHead =
        values.subspan(static_cast<size_t>(head * rows * width), static_cast<size_t>(tokens * width));
    to.insert(to.end(), rowsOfHead.begin(), rowsOfHead.end());
}

} // namespace

AttentionNumbers randomNumbers(const AttentionExtents& extents, uint64_t seed) {
    const auto rows = [&](int64_t count, const char* name) {
        return gaussianRows(count, extents.width, 1, streamSeed(seed, name));
    };
    const int64_t keys = extents.groups * (extents.keys > 0 ? extents.keys : extents.tokens);
    return {.q = rows(extents.heads * extents.tokens, "q"), .k = rows(keys, "k"), .v = rows(keys, "v")};
}

AttentionNumbers projectedNumbers(const TokenFeatures& features, const AttentionExtents& extents, uint64_t seed) {
    const int64_t F = features.width, D = extents.width;
    const double deviation = 1 / std::sqrt(static_cast<double>(F));
    const auto project = [&](const char* name) {
        const std::vector<float> matrices = gaussianRows(extents.groups * F, D, deviation, streamSeed(seed, name));
        std::vector<float> result(static_cast<size_t>(extents.groups * extents.tokens * D), 0);
        for (int64_t g = 0; g < extents.groups; ++g)
            for (int64_t t = 0; t < extents.tokens; ++t)
                for (int64_t f = 0; f < F; ++f) {
                    const float x = features.values[static_cast<size_t>(t * F + f)];
                    const float* row = matrices.data() + (g * F + f) * D;
                    float* to = result.data() + (g * extents.tokens + t) * D;
                    for (int64_t d = 0; d < D; ++d) to[d] += x * row[d]; // [T,F] . [F,D] -> [T,D]
                }
        return result;
    };
    AttentionNumbers numbers{.q = {}, .k = project("k"), .v = project("v")};
    for (int64_t h = 0; h < extents.heads; ++h)
        appendHead(numbers.q, numbers.k, h * extents.groups / extents.heads, extents.tokens, extents.tokens, D);
    return numbers;
}

AttentionNumbers layerNumbers(const SiteInputs& inputs, const AttentionExtents& extents) {
    if (extents.ofStream) {
        const auto count = static_cast<std::ptrdiff_t>(extents.tokens * extents.width);
        const std::vector<float> rows(inputs.stream.begin(), inputs.stream.begin() + count);
        return {.q = rows, .k = rows, .v = rows};
    }
    if (inputs.q.empty())
        throw Error({.what = "the layer mixes the residual stream itself and has no queries, keys and values",
                     .where = "input",
                     .hint = "choose a layer with attention, or random numbers"});
    const int64_t modelHeads = inputs.heads, modelGroups = inputs.keyValueHeads;
    const auto hint = fmt::format("use heads={}, like the layer", inputs.headsText());
    if (extents.width != inputs.width || extents.tokens > inputs.tokens)
        throw Error({.what = fmt::format("the layer has {} tokens of {} features instead of {} of {}", inputs.tokens,
                                         inputs.width, extents.tokens, extents.width),
                     .where = "input",
                     .hint = {}});
    if (extents.heads > modelHeads)
        throw Error({.what = fmt::format("the layer has {} heads but this attention has {}", modelHeads, extents.heads),
                     .where = "input",
                     .hint = hint});
    const auto modelGroup = [&](int64_t head) { return head * modelGroups / modelHeads; };
    AttentionNumbers numbers;
    for (int64_t h = 0; h < extents.heads; ++h)
        appendHead(numbers.q, inputs.q, h, inputs.tokens, extents.tokens, extents.width);
    const int64_t share = extents.heads / extents.groups; // heads per group
    for (int64_t g = 0; g < extents.groups; ++g) {
        const int64_t own = modelGroup(g * share);
        if (modelGroup((g + 1) * share - 1) != own)
            throw Error({.what = fmt::format("heads {} to {} would share a key, but have different keys in the layer",
                                             g * share, (g + 1) * share - 1),
                         .where = "input",
                         .hint = hint});
        appendHead(numbers.k, inputs.k, own, inputs.tokens, extents.tokens, extents.width);
        appendHead(numbers.v, inputs.v, own, inputs.tokens, extents.tokens, extents.width);
    }
    return numbers;
}

bool readsStream(const AttentionSpec& spec) { return mixesStream(spec); }

} // namespace attn
