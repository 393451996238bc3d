#include "engine/analysis/patch_row.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace attn {

namespace {

/// The factor of each token: 1 for one token, or equal factors for all patches. @return [T]
std::vector<float> shares(const LayerLayout& layout, std::optional<int> token) {
    std::vector<float> shares(static_cast<size_t>(layout.tokens), 0);
    if (token && *token < layout.prefix)
        shares[static_cast<size_t>(*token)] = 1;
    else if (token)
        shares[static_cast<size_t>(layout.tokenOf.at(static_cast<size_t>(*token - layout.prefix)))] = 1;
    else
        for (const int32_t of : layout.tokenOf)
            shares[static_cast<size_t>(of)] += 1 / static_cast<float>(layout.tokenOf.size());
    return shares;
}

/// @param row [T]
PatchRow byPatch(const LayerLayout& layout, std::span<const float> row) {
    PatchRow result;
    result.patches.reserve(layout.tokenOf.size());
    for (const int32_t token : layout.tokenOf) result.patches.push_back(row[static_cast<size_t>(token)]);
    const auto before = row.first(static_cast<size_t>(layout.prefix));
    result.elsewhere = std::accumulate(before.begin(), before.end(), 0.0);
    return result;
}

} // namespace

PatchRow patchRow(const SitePattern& pattern, int head, std::optional<int> token) {
    const LayerLayout& layout = pattern.layout;
    const std::vector<float> share = shares(layout, token);
    std::vector<float> row(static_cast<size_t>(layout.tokens), 0);
    layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
        const float weight = share[static_cast<size_t>(query)];
        if (weight == 0) return;
        const float* cells = pattern.values.data() + pattern.at(head, first);
        for (size_t i = 0; i < keys.size(); ++i)
            if (keys[i] >= 0) row[static_cast<size_t>(keys[i])] += weight * cells[i];
    });
    return byPatch(layout, row);
}

PatchRow patchRow(const TokenMap& map, std::optional<int> token) {
    const std::vector<float> share = shares(map.rows, token);
    const auto columns = static_cast<size_t>(map.columns.tokens);
    std::vector<float> row(columns, 0);
    for (size_t query = 0; query < share.size(); ++query)
        if (share[query] != 0)
            for (size_t key = 0; key < columns; ++key) row[key] += share[query] * map.values[query * columns + key];
    return byPatch(map.columns, row);
}

PatchRow fusedPatchRow(const SitePattern& pattern, std::optional<int> token, HeadFusion fusion) {
    const auto fused = [&](auto a, auto b) {
        return fusion == HeadFusion::Mean ? a + b : fusion == HeadFusion::Maximum ? std::max(a, b) : std::min(a, b);
    };
    PatchRow result = patchRow(pattern, 0, token);
    for (int head = 1; head < pattern.heads; ++head) {
        const PatchRow row = patchRow(pattern, head, token);
        for (size_t i = 0; i < row.patches.size(); ++i) result.patches[i] = fused(result.patches[i], row.patches[i]);
        result.elsewhere = fused(result.elsewhere, row.elsewhere);
    }
    if (fusion == HeadFusion::Mean) {
        for (float& value : result.patches) value /= static_cast<float>(pattern.heads);
        result.elsewhere /= pattern.heads;
    }
    return result;
}

std::vector<float> difference(const PatchRow& first, const PatchRow& second) {
    if (first.patches.size() != second.patches.size())
        throw Error({.what = fmt::format("pictures of {} and {} patches have no difference", first.patches.size(),
                                         second.patches.size()),
                     .where = "comparison",
                     .hint = "compare models with the same grid of patches"});
    std::vector<float> result(first.patches.size());
    std::ranges::transform(first.patches, second.patches, result.begin(), std::minus());
    return result;
}

} // namespace attn
