#include "engine/core/error.h"
#include "engine/inference/edit_inputs.h"
#include "engine/inference/intervention_rows.h"
#include "engine/inference/vision_model.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/vision_encoder.h"

#include <fmt/format.h>

#include <algorithm>

// Changes to hooks and patterns.

namespace attn {
namespace {

/// The mean of a hook over tokens, as one row.
CapturedHook meanOf(const CapturedHook& hook) {
    const auto count = static_cast<size_t>(hook.shape[0]), width = hook.values.size() / count;
    CapturedHook mean{.name = hook.name, .shape = {1, static_cast<int64_t>(width)}, .values = {}};
    mean.values.assign(width, 0);
    for (size_t i = 0; i < hook.values.size(); ++i)
        mean.values[i % width] += hook.values[i] / static_cast<float>(count);
    return mean;
}

} // namespace

bool VisionModel::isEdited() const {
    return !edits_.empty() || std::ranges::any_of(gates_, [](float gate) { return gate != 1; });
}

std::set<std::string> VisionModel::editedHooks() const {
    if (isBypassed_) return {};
    std::set<std::string> names = edits_.hooks();
    for (const int layer : edits_.patternLayers()) {
        names.insert(attentionHook(layer, "pattern"));
        names.insert(attentionHook(layer, "z")); // applies the gates
    }
    return names;
}

void VisionModel::setHookEdits(HookEdits edits) {
    if (edits.hooks() != edits_.hooks() || edits.patternLayers() != edits_.patternLayers()) edited_ = {};
    edits_ = std::move(edits);
}

void VisionModel::setEdits(const Changes& edits, std::span<const float> own, std::span<const float> other) {
    const std::array given{own, other};
    for (size_t i = 0; i < given.size(); ++i)
        if (!std::ranges::equal(given[i], sources_[i])) {
            sources_[i].assign(given[i].begin(), given[i].end());
            values_.clear();
        }
    HookEdits worked;
    const VisionGraph listing = buildVisionEncoder(config());
    for (Intervention edit : edits.interventions) {
        const HookShape shape = editableShape(*listing.graph, edit, info_.name);
        for (int* position : {&edit.position, &edit.textPosition}) *position = rowOf(edit.hook, *position);
        worked.declare(edit.hook, shape.heads, shape.width);
        std::optional<CapturedHook> values, contrast; // copies, because kept values may be removed
        const bool isSteered = edit.kind == Intervention::Kind::Steer;
        if (edit.kind != Intervention::Kind::Zero)
            values = valuesOf(!edit.text.empty(), edit.hook, isSteered && edit.textPosition < 0);
        if (isSteered && !edit.contrast.empty()) contrast = valuesOf(edit.text.empty(), edit.hook, true);
        if (auto rows = rowsOf(edit, shape, values ? &*values : nullptr, contrast ? &*contrast : nullptr))
            worked.add(edit.hook, std::move(*rows));
    }
    for (const PatternEdit& edit : edits.patterns) {
        info_.requireHead(edit.site, edit.head);
        if (!listing.graph->probes().contains(attentionHook(edit.site, "pattern")))
            throw Error({.what = fmt::format("the attention of layer {} forms no pattern", edit.site),
                         .where = info_.name,
                         .hint = "set the head's gate to 0, or change hook_z"});
        worked.set(edit);
        const Site& site = info_.site(edit.site);
        worked.declare(attentionHook(edit.site, "z"), site.heads, int64_t{site.heads} * site.headWidth);
    }
    setHookEdits(std::move(worked));
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

void VisionModel::setChanges(const Changes& changes, std::span<const float> own, std::span<const float> other) {
    for (const auto& [at, gate] : changes.gates) info_.requireHead(at.first, at.second);
    setEdits(changes, own, other);
    setGate(-1, -1, 1);
    for (const auto& [at, gate] : changes.gates) setGate(at.first, at.second, gate);
}

const CapturedHook& VisionModel::valuesOf(bool isOther, const std::string& hook, bool isMean) {
    const std::vector<float>& patches = sources_[isOther ? 1 : 0];
    if (patches.empty())
        throw Error({.what = "there is no other picture to patch values from",
                     .where = hook,
                     .hint = "choose another picture"});
    const std::string key = fmt::format("{}{}:{}", isOther ? "other" : "own", isMean ? " mean" : "", hook);
    if (const auto found = values_.find(key); found != values_.end()) return found->second;
    const bool wasBypassed = std::exchange(isBypassed_, true);
    try {
        CapturedHook captured = std::move(capture(patches, hook).front());
        isBypassed_ = wasBypassed;
        return values_.emplace(key, isMean ? meanOf(captured) : std::move(captured)).first->second;
    } catch (...) {
        isBypassed_ = wasBypassed;
        throw;
    }
}

void VisionModel::writeEdits(GpuExecutor& executor) const {
    if (isBypassed_) return;
    for (const std::string& hook : edits_.hooks())
        if (const auto inputs = editInputs(executor, hook))
            edits_.write(hook, 0, static_cast<size_t>(inputs->shape[0]), inputs->stride(), inputs->kept, inputs->added);
    for (const int layer : edits_.patternLayers()) {
        const auto at = static_cast<size_t>(layer);
        LayerLayout layout = layerLayouts(config())[at];
        layout.tokens = config().tokensOf(layer); // also for pooled tokens
        writeGatesOfFormed(executor, layer, static_cast<size_t>(layout.tokens),
                           std::span(gates_).subspan(at * static_cast<size_t>(info_.heads),
                                                     static_cast<size_t>(info_.structure.sites[at].heads)));
        const auto pattern = editInputs(executor, attentionHook(layer, "pattern"));
        if (!pattern) continue;
        pattern->keepAll();
        for (const auto& [head, edit] : edits_.patterns())
            if (head.first == layer) writePattern(*pattern, edit, layout);
    }
}

void VisionModel::writePattern(const EditInputs& pattern, const PatternEdit& edit, const LayerLayout& layout) const {
    const auto layer = static_cast<size_t>(edit.site);
    const int heads = info_.structure.sites[layer].heads;
    const auto& spec = config().layers[layer].spec;
    layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> tokens) {
        const auto places = static_cast<int64_t>(tokens.size());
        std::vector<int> keys(tokens.begin(), tokens.end());
        const int64_t place = first / places;
        if (spec) {
            const std::vector<int> seen = seenPlaces(*spec, edit.site, edit.head, heads,
                                                     static_cast<int>(place % places), static_cast<int>(places));
            for (size_t key = 0; key < keys.size(); ++key)
                if (seen[key] == kHidden) keys[key] = kHidden;
        }
        if (layout.windows) // tokens from another edge are hidden
            for (size_t key = 0; key < keys.size(); ++key) {
                const auto at = static_cast<size_t>(place / places * places) + key;
                if (layout.windows->regions[at] != layout.windows->regions[static_cast<size_t>(place)])
                    keys[key] = kHidden;
            }
        const int64_t row = ((place / places) * heads + edit.head) * places + place % places; // [windows,H,T,T]
        pattern.setRow(static_cast<size_t>(row), editedRow(edit, static_cast<int>(query), keys));
    });
}

} // namespace attn
