#include "engine/session/patch_row.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace attn {

PatchRow patchRow(std::span<const float> map, const VisionInfo& info, std::optional<int> token) {
    const auto tokens = static_cast<size_t>(info.tokens()), before = info.prefix.size();
    const size_t first = token ? static_cast<size_t>(*token) : before, end = token ? first + 1 : tokens;
    std::vector<float> row(tokens, 0);
    for (size_t query = first; query < end; ++query)
        for (size_t key = 0; key < tokens; ++key)
            row[key] += map[query * tokens + key] / static_cast<float>(end - first);
    const auto patches = row.begin() + static_cast<std::ptrdiff_t>(before);
    return {{patches, row.end()}, std::accumulate(row.begin(), patches, 0.0)};
}

PatchRow fusedPatchRow(std::span<const float> pattern, const VisionInfo& info, std::optional<int> token,
                       HeadFusion fusion) {
    const auto cells = static_cast<size_t>(info.tokens()) * static_cast<size_t>(info.tokens());
    const auto fused = [&](auto a, auto b) {
        return fusion == HeadFusion::Mean ? a + b : fusion == HeadFusion::Maximum ? std::max(a, b) : std::min(a, b);
    };
    PatchRow result = patchRow(pattern.first(cells), info, token);
    for (int head = 1; head < info.heads; ++head) {
        const PatchRow row = patchRow(pattern.subspan(static_cast<size_t>(head) * cells, cells), info, token);
        for (size_t i = 0; i < row.patches.size(); ++i) result.patches[i] = fused(result.patches[i], row.patches[i]);
        result.elsewhere = fused(result.elsewhere, row.elsewhere);
    }
    if (fusion == HeadFusion::Mean) {
        for (float& value : result.patches) value /= static_cast<float>(info.heads);
        result.elsewhere /= info.heads;
    }
    return result;
}

std::vector<float> difference(const PatchRow& first, const PatchRow& second) {
    if (first.patches.size() != second.patches.size())
        throw Error(
            {.what = fmt::format("{} patches have no difference from {}", first.patches.size(), second.patches.size()),
             .where = "comparison",
             .hint = "compare models that cut a picture into the same grid"});
    std::vector<float> result(first.patches.size());
    std::ranges::transform(first.patches, second.patches, result.begin(), std::minus());
    return result;
}

} // namespace attn
