#include "engine/core/error.h"
#include "engine/inference/change_inputs.h"
#include "engine/inference/vision_model.h"
#include "engine/models/hook_names.h"
#include "engine/models/patch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

// Changes to hooks and patterns.

namespace attn {

void VisionModel::changesChanged(bool isOtherSet) {
    if (isOtherSet) changed_ = {};
}

int VisionModel::rowOf(const std::string& hook, int token) const {
    const int layer = splitName(hook).layer;
    if (token < 0 || layer < 0 || hook.find(".attn.") == hook.npos) return token;
    const LayerLayout layout = layerLayouts(config())[static_cast<size_t>(layer)];
    if (!layout.windows) return token;
    if (token >= layout.tokens)
        throw Error({.what = fmt::format("{} has no token {}", hook, token),
                     .where = info_.name,
                     .hint = fmt::format("it has {} tokens", layout.tokens)});
    return layout.windows->places[static_cast<size_t>(token)];
}

std::vector<int> VisionModel::rowsOfInput(int site) const {
    const LayerLayout layout = layerLayouts(config())[static_cast<size_t>(site)];
    std::vector<int> rows(static_cast<size_t>(layout.prefix));
    std::iota(rows.begin(), rows.end(), 0);
    rows.insert(rows.end(), layout.tokenOf.begin(), layout.tokenOf.end());
    return rows;
}

bool VisionModel::ordersByWindow(int site) const {
    const auto at = static_cast<size_t>(site);
    return at < config().patches.windows.size() && config().patches.windows[at].size > 0;
}

void VisionModel::requireSameRows(const std::string& hook) const {
    if (!config().patches.pools.empty())
        throw Error({.what = "this model pools tokens by content, so the tokens of two pictures do not correspond",
                     .where = info_.name,
                     .hint = "patch all tokens of a layer at once"});
    if (hook.starts_with("attn.") && std::ranges::any_of(config().patches.windows, &GridWindows::size))
        throw Error({.what = fmt::format("the tokens of {} are in the order of the windows, not of the picture", hook),
                     .where = info_.name,
                     .hint = "use hook_attn_out"});
}

Input VisionModel::sourceOf(const ValueChange& change, bool isContrast, const Input& own,
                            const std::optional<Input>& other) const {
    const bool isOther = isContrast ? change.text.empty() : !change.text.empty();
    if (!isOther) return own;
    if (other) return *other;
    throw Error({.what = "there is no other picture to patch values from",
                 .where = change.hook,
                 .hint = "choose another picture"});
}

CapturedHook VisionModel::originalValues(const Input& input, const std::string& hook) {
    return std::move(capture(input, hook).front());
}

void VisionModel::writePattern(const ChangeInputs& pattern, const PatternChange& change, size_t, size_t) const {
    LayerLayout layout = layerLayouts(config())[static_cast<size_t>(change.site)];
    layout.tokens = config().patches.tokensOf(change.site); // also for pooled tokens
    const auto layer = static_cast<size_t>(change.site);
    const int heads = info_.structure.sites[layer].heads;
    const auto& spec = config().layers[layer].spec;
    layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> tokens) {
        const auto places = static_cast<int64_t>(tokens.size());
        std::vector<int> keys(tokens.begin(), tokens.end());
        const int64_t place = first / places;
        const std::vector<int> seen = seenPlaces(spec, change.site, change.head, heads,
                                                 static_cast<int>(place % places), static_cast<int>(places));
        for (size_t key = 0; key < keys.size(); ++key)
            if (seen[key] == kHidden) keys[key] = kHidden;
        if (layout.windows) // tokens from another edge are hidden
            for (size_t key = 0; key < keys.size(); ++key) {
                const auto at = static_cast<size_t>(place / places * places) + key;
                if (layout.windows->regions[at] != layout.windows->regions[static_cast<size_t>(place)])
                    keys[key] = kHidden;
            }
        const int64_t row = ((place / places) * heads + change.head) * places + place % places; // [windows,H,T,T]
        pattern.setRow(static_cast<size_t>(row), changedPatternRow(change, static_cast<int>(query), keys));
    });
}

} // namespace attn
