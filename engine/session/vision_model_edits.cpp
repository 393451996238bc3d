#include "engine/core/error.h"
#include "engine/models/decoder.h"
#include "engine/models/recipes.h"
#include "engine/models/vision_encoder.h"
#include "engine/session/intervention_rows.h"
#include "engine/session/vision_model.h"

#include <fmt/format.h>

#include <algorithm>

// Interventions: what flows through hooks instead of the model's own.

namespace attn {
namespace {

std::string hookOf(int layer, const char* hook) { return fmt::format("blocks.{}.attn.hook_{}", layer, hook); }

const Shape& inputShape(const Plan& plan, const std::string& name) {
    return std::ranges::find(plan.tensors, name, &PlannedTensor::name)->type.shape;
}

/// A hook whose one row is the mean over the tokens.
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
        names.insert(hookOf(layer, "pattern"));
        names.insert(hookOf(layer, "z")); // carries the gates
    }
    return names;
}

void VisionModel::setHookEdits(HookEdits edits) {
    if (edits.hooks() != edits_.hooks() || edits.patternLayers() != edits_.patternLayers()) edited_ = {};
    edits_ = std::move(edits);
}

void VisionModel::setEdits(const Edits& edits, std::span<const float> own, std::span<const float> other) {
    const std::array given{own, other};
    for (size_t i = 0; i < given.size(); ++i)
        if (!std::ranges::equal(given[i], sources_[i])) {
            sources_[i].assign(given[i].begin(), given[i].end());
            values_.clear();
        }
    HookEdits worked;
    const VisionGraph listing = buildVisionEncoder(config());
    for (const Intervention& edit : edits.interventions) {
        const HookShape shape = editableShape(*listing.graph, edit, info_.name);
        const int layer = splitParameter(edit.hook).layer;
        const bool isWindowed = layer >= 0 && static_cast<size_t>(layer) < config().windows.size() &&
                                config().windows[static_cast<size_t>(layer)].size > 0;
        if (isWindowed && std::max(edit.position, edit.textPosition) >= 0 && edit.hook.find(".attn.") != edit.hook.npos)
            throw Error({.what = fmt::format("tokens of {} stand in the order of its windows", edit.hook),
                         .where = info_.name,
                         .hint = "change all tokens, or one of hook_attn_out"});
        worked.declare(edit.hook, shape.heads, shape.width);
        std::optional<CapturedHook> values, contrast; // copies: the kept ones may go
        const bool isSteered = edit.kind == Intervention::Kind::Steer;
        if (edit.kind != Intervention::Kind::Zero)
            values = valuesOf(!edit.text.empty(), edit.hook, isSteered && edit.textPosition < 0);
        if (isSteered && !edit.contrast.empty()) contrast = valuesOf(edit.text.empty(), edit.hook, true);
        if (auto rows = rowsOf(edit, shape, values ? &*values : nullptr, contrast ? &*contrast : nullptr))
            worked.add(edit.hook, std::move(*rows));
    }
    for (const PatternEdit& edit : edits.patterns) {
        const auto layer = static_cast<size_t>(edit.layer);
        if (edit.layer < 0 || edit.layer >= info_.layers || edit.head < 0 || edit.head >= info_.layerHeads[layer])
            throw Error({.what = fmt::format("there is no head {} in layer {}", edit.head, edit.layer),
                         .where = info_.name,
                         .hint = fmt::format("the model has {} layers of {} heads", info_.layers, info_.heads)});
        if (config().layers[layer].spec || !config().windows.empty())
            throw Error({.what = "patterns of windows and of composed attention cannot be set by hand",
                         .where = info_.name,
                         .hint = "close the head's gate, or change hook_z"});
        worked.set(edit);
        const LayerAttention& attention = config().layers[layer];
        worked.declare(hookOf(edit.layer, "z"), attention.heads.heads, attention.heads.heads * attention.heads.width);
    }
    setHookEdits(std::move(worked));
}

const CapturedHook& VisionModel::valuesOf(bool isOther, const std::string& hook, bool isMean) {
    const std::vector<float>& patches = sources_[isOther ? 1 : 0];
    if (patches.empty())
        throw Error({.what = "there is no picture to take values from", .where = hook, .hint = "choose one"});
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
    const auto inputsOf = [&](const std::string& hook, const auto& fill) {
        if (!executor.hasInput(decoder_names::kept(hook))) return;
        fill(executor.input(decoder_names::kept(hook)), executor.input(decoder_names::added(hook)),
             inputShape(executor.plan(), decoder_names::kept(hook)));
    };
    for (const std::string& hook : edits_.hooks())
        inputsOf(hook, [&](std::span<float> kept, std::span<float> added, const Shape& shape) {
            edits_.write(hook, 0, static_cast<size_t>(shape[0]), static_cast<size_t>(shape.rowStride()), kept, added);
        });
    for (const int layer : edits_.patternLayers()) {
        inputsOf(hookOf(layer, "z"), [&](std::span<float> kept, std::span<float>, const Shape& shape) { // [T,H,D]
            const auto heads = static_cast<size_t>(shape[1]), stride = static_cast<size_t>(shape.rowStride());
            for (size_t i = 0; i < kept.size(); ++i)
                kept[i] *= gates_[static_cast<size_t>(layer * info_.heads) + i / stride % heads];
        });
        inputsOf(hookOf(layer, "pattern"), [&](std::span<float> kept, std::span<float> added, const Shape& shape) {
            const auto rows = static_cast<size_t>(shape[1]), stride = static_cast<size_t>(shape.rowStride()); // [H,T,T]
            std::ranges::fill(kept, 1.0f);
            std::ranges::fill(added, 0.0f);
            for (const auto& [at, edit] : edits_.patterns())
                for (size_t row = 0; at.first == layer && row < rows; ++row) {
                    const auto own = editedRow(edit, static_cast<int>(row), 0, static_cast<int>(rows));
                    if (own.empty()) continue;
                    const size_t begin = (static_cast<size_t>(at.second) * rows + row) * stride;
                    std::ranges::fill(kept.subspan(begin, stride), 0.0f);
                    std::ranges::copy(own, added.begin() + static_cast<std::ptrdiff_t>(begin));
                }
        });
    }
}

} // namespace attn
