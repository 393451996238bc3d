#include "engine/analysis/class_sweeps.h"

#include "engine/core/error.h"
#include "engine/inference/intervention_rows.h"
#include "engine/inference/vision_model.h"
#include "engine/models/hook_names.h"
#include "engine/models/vision_encoder.h"
#include "engine/models/vision_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

float asFloat(double value) { return static_cast<float>(value); }

} // namespace

std::shared_ptr<AnalysisResult> ClassAblationAnalysis::run(RunningModel& running,
                                                           const AnalysisContext& context) const {
    VisionModel& model = visionModel(running);
    const ModelInfo& info = model.info();
    auto result = std::make_shared<ClassAblation>();
    result->layers = info.layers;
    result->heads = info.heads;
    const std::vector<float> before = model.predict(context.input), gates = model.gates();
    result->target = resolved(target, before);
    const double whole = logitOf(result->target, before);
    result->whole = asFloat(whole);
    const auto effect = [&] { return asFloat(logitOf(result->target, model.predict(context.input)) - whole); };
    const int all = info.layers * (info.heads + 1);
    const auto report = [&](int done) {
        if (context.report) context.report(static_cast<float>(done) / static_cast<float>(all), "effect of each head");
    };
    result->headEffects.assign(gates.size(), 0);
    for (int layer = 0; layer < info.layers; ++layer)
        for (int head = 0; head < info.site(layer).heads; ++head) {
            report(layer * info.heads + head);
            const auto at = static_cast<size_t>(layer * info.heads + head);
            model.setGate(layer, head, 0);
            result->headEffects[at] = effect();
            model.setGate(layer, head, gates[at]);
        }
    // All MLPs are declared at once, so that one plan serves them.
    HookEdits edits = model.hookEdits();
    std::vector<std::string> hooks;
    for (int layer = 0; layer < info.layers; ++layer) {
        hooks.push_back(inBlock(layer, "hook_mlp_out"));
        if (std::ranges::find(info.hooks, hooks.back()) == info.hooks.end()) return result;
        edits.declare(hooks.back(), 1, model.config().widthOf(layer));
    }
    for (int layer = 0; layer < info.layers; ++layer) {
        report(info.layers * info.heads + layer);
        HookEdits without = edits;
        without.add(hooks[static_cast<size_t>(layer)], {.keep = 0});
        model.setHookEdits(std::move(without));
        result->mlpEffects.push_back(effect());
    }
    return result;
}

std::shared_ptr<AnalysisResult> ClassPatchSweepAnalysis::run(RunningModel& running,
                                                             const AnalysisContext& context) const {
    VisionModel& model = visionModel(running);
    const ModelInfo& info = model.info();
    if (!context.other)
        throw Error({.what = "there is no other picture to patch values from",
                     .where = "patch",
                     .hint = "choose another picture"});
    if (!model.config().pools.empty())
        throw Error({.what = "this model pools tokens by content, so the tokens of two pictures do not correspond",
                     .where = info.name,
                     .hint = "patch all tokens of a layer at once"});
    if (hook.starts_with("attn.") && std::ranges::any_of(model.config().windows, &GridWindows::size))
        throw Error({.what = fmt::format("the tokens of {} are in the order of the windows, not of the picture", hook),
                     .where = info.name,
                     .hint = "use hook_attn_out"});
    auto result = std::make_shared<ClassPatchSweep>();
    result->hook = hook;
    result->layers = info.layers;
    result->tokens = info.tokens();
    const auto values = model.capture(*context.other, inEveryBlock(hook));
    if (static_cast<int>(values.size()) != info.layers)
        throw Error(
            {.what = fmt::format("some layers have no {}", hook), .where = info.name, .hint = "use hook_resid_pre"});
    const std::vector<float> otherLogits = model.predict(*context.other);
    result->compare(target, model.predict(context.input), otherLogits);
    // All layers are declared at once, so that one plan serves them.
    HookEdits declared = model.hookEdits();
    const ModelGraph listing = buildVisionEncoder(model.config());
    int64_t all = 0;
    for (const CapturedHook& each : values) {
        const HookShape shape = editableShape(*listing.graph, {.hook = each.name}, info.name);
        declared.declare(each.name, shape.heads, shape.width);
        all += each.shape[0];
    }
    const std::vector<LayerLayout> layouts = layerLayouts(model.config());
    int64_t done = 0;
    for (size_t layer = 0; layer < values.size(); ++layer) {
        const CapturedHook& from = values[layer];
        const auto width = static_cast<std::ptrdiff_t>(from.shape.elements() / from.shape[0]);
        std::vector<double> logits; // one per token of the layer
        for (int token = 0; token < from.shape[0]; ++token) {
            if (context.report)
                context.report(static_cast<float>(done++) / static_cast<float>(all), "effect of each value");
            const auto begin = from.values.begin() + token * width;
            HookEdits edits = declared;
            edits.add(from.name, {.position = token, .keep = 0, .values = {begin, begin + width}, .rows = 1});
            model.setHookEdits(std::move(edits));
            logits.push_back(logitOf(result->target, model.predict(context.input)));
        }
        const auto prefix = static_cast<int>(layouts[layer].prefix);
        for (int token = 0; token < result->tokens; ++token) {
            const int own = token < prefix ? token : layouts[layer].tokenOf[static_cast<size_t>(token - prefix)];
            const double logit = logits[static_cast<size_t>(own)];
            result->layerTokens.push_back(own);
            result->logits.push_back(asFloat(logit));
            result->effects.push_back(result->shareOf(logit));
        }
    }
    return result;
}

} // namespace attn
