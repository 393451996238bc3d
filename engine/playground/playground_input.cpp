#include "engine/playground/playground_input.h"

#include "engine/attention/head_counts.h"
#include "engine/core/error.h"
#include "engine/core/random_rows.h"
#include "engine/core/rng.h"

#include <fmt/format.h>

#include <algorithm>
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

AttentionNumbers randomNumbers(const AttentionExtents& extents, uint64_t seed, AttentionNumbers former) {
    const auto draw = [&](std::vector<float>& numbers, int64_t rows, const char* name) {
        const int64_t count = rows * extents.width, known = std::min(count, static_cast<int64_t>(numbers.size()));
        numbers.resize(static_cast<size_t>(known));
        const std::vector<float> others = gaussianRows(count, 1, 1, streamSeed(seed, name), known);
        numbers.insert(numbers.end(), others.begin(), others.end());
    };
    const int64_t keys = extents.groups * (extents.keys > 0 ? extents.keys : extents.tokens);
    draw(former.q, extents.heads * extents.tokens, "q");
    draw(former.k, keys, "k");
    draw(former.v, keys, "v");
    return former;
}

AttentionNumbers projectedNumbers(const TokenFeatures& features, const AttentionExtents& extents, uint64_t seed,
                                  AttentionNumbers former) {
    const int64_t F = features.width, D = extents.width, ofGroup = extents.tokens * D;
    const double deviation = 1 / std::sqrt(static_cast<double>(F));
    const auto project = [&](std::vector<float>& numbers, const char* name) {
        const int64_t known = std::min(extents.groups, static_cast<int64_t>(numbers.size()) / ofGroup);
        numbers.resize(static_cast<size_t>(known * ofGroup));
        numbers.resize(static_cast<size_t>(extents.groups * ofGroup), 0);
        const std::vector<float> matrices =
            gaussianRows(extents.groups * F, D, deviation, streamSeed(seed, name), known * F);
        for (int64_t g = known; g < extents.groups; ++g)
            for (int64_t t = 0; t < extents.tokens; ++t)
                for (int64_t f = 0; f < F; ++f) {
                    const float x = features.values[static_cast<size_t>(t * F + f)];
                    const float* row = matrices.data() + ((g - known) * F + f) * D;
                    float* to = numbers.data() + g * ofGroup + t * D;
                    for (int64_t d = 0; d < D; ++d) to[d] += x * row[d]; // [T,F] . [F,D] -> [T,D]
                }
    };
    project(former.k, "k");
    project(former.v, "v");
    former.q.clear();
    for (int64_t h = 0; h < extents.heads; ++h)
        appendHead(former.q, former.k, h * extents.groups / extents.heads, extents.tokens, extents.tokens, D);
    return former;
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
