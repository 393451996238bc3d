#include "engine/analysis/sweeps.h"

#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/inference/edit_inputs.h"
#include "engine/inference/graph_sources.h"
#include "engine/inference/hook_edits.h"
#include "engine/inference/language_model.h"
#include "engine/models/hook_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attn {
namespace {

constexpr const char* kPattern = "attn.hook_pattern";

/// Whether a hook with these axes has one row for each token.
bool isByToken(const std::string& hook, const std::string& axes) {
    return axes == "TC" || axes == "THD" || axes == "TGD" || (axes == "HTS" && hook == kPattern);
}

/// @throws Error that names the hooks that can be patched
void checkPatchable(const RunningModel& model, const std::string& hook) {
    model.requireSameRows(hook);
    const std::vector<std::string> possible = patchableHooks(model);
    if (std::ranges::find(possible, hook) != possible.end()) return;
    const auto& names = model.info().hooks;
    bool isThere = true;
    for (int layer = 0; layer < model.info().layers; ++layer)
        isThere &= std::ranges::find(names, inBlock(layer, hook)) != names.end();
    throw Error({.what = isThere ? fmt::format("{} cannot be patched token by token", hook)
                                 : fmt::format("not every layer has a hook \"{}\"", hook),
                 .where = model.info().name,
                 .hint = fmt::format("use {}", fmt::join(possible, ", "))});
}

/// Makes hooks of all layers ready for patches, so that one plan serves them.
HookEdits declared(const RunningModel& model, HookEdits edits, const std::vector<CapturedHook>& values) {
    const auto& info = model.info();
    for (size_t at = 0; at < values.size(); ++at) {
        const auto layer = static_cast<int>(at);
        const Shape& shape = values[at].shape; // [T,C], [T,H,D] or, of patterns, [H,T,T]
        if (values[at].name == attentionHook(layer, "pattern")) {
            edits.declare(attentionHook(layer, "z"), info.site(layer).heads,
                          int64_t{info.site(layer).heads} * info.site(layer).headWidth);
            if (!edits.editsPatternOf(layer)) edits.set({.site = layer}); // no row of it yet
        } else {
            edits.declare(values[at].name, shape.rank() == 3 ? shape[1] : 1, shape.elements() / shape[0]);
        }
    }
    return edits;
}

/// Puts one token's row of the other run in the place of the run's own: of a pattern, that query's row of all heads.
HookEdits patched(HookEdits edits, int layer, const CapturedHook& from, size_t token) {
    const auto rowOf = [&](size_t row, size_t width) {
        const auto begin = from.values.begin() + static_cast<std::ptrdiff_t>(row * width);
        return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(width));
    };
    if (from.name != attentionHook(layer, "pattern")) {
        const auto width = static_cast<size_t>(from.shape.elements() / from.shape[0]);
        edits.add(from.name,
                  {.position = static_cast<int>(token), .keep = 0, .values = rowOf(token, width), .rows = 1});
        return edits;
    }
    const auto count = static_cast<size_t>(from.shape[1]);
    for (int head = 0; head < from.shape[0]; ++head) {
        const auto known = edits.patterns().find({layer, head});
        PatternEdit edit = known != edits.patterns().end() ? known->second : PatternEdit{.site = layer, .head = head};
        if (edit.kind != PatternEdit::Kind::Rows) continue; // the change gives both runs the same rows
        edit.rows[static_cast<int>(token)] = rowOf(static_cast<size_t>(head) * count + token, count);
        edits.set(std::move(edit));
    }
    return edits;
}

/// The input that values are copied from.
Input otherInput(RunningModel& model, const AnalysisContext& context, const std::string& text) {
    if (!context.input.isText()) {
        if (context.other) return *context.other;
        throw Error(
            {.what = "there is no other picture to patch values from", .where = {}, .hint = "choose another picture"});
    }
    const size_t count = context.input.tokens().size();
    std::vector<int> others = tokensOf(languageModel(model), text);
    if (others.size() == count) return others;
    throw Error({.what = fmt::format("the prompt has {} tokens, the other text {}", count, others.size()),
                 .where = {},
                 .hint = "change a word so that both have the same number of tokens"});
}

} // namespace

std::vector<std::string> patchableHooks(const RunningModel& model) {
    const ModelGraph listing = model.listing();
    const auto& probes = listing.graph->probes();
    const std::string first = inBlock(0, "");
    std::vector<std::string> hooks;
    for (const std::string& name : model.info().hooks) {
        if (!name.starts_with(first)) continue;
        const std::string hook = name.substr(first.size());
        const auto hasRows = [&](int layer) {
            const auto probe = probes.find(inBlock(layer, hook));
            return probe != probes.end() && isByToken(hook, probe->second.axes);
        };
        int layer = 0;
        while (layer < model.info().layers && hasRows(layer)) ++layer;
        if (layer == model.info().layers) hooks.push_back(hook);
    }
    return hooks;
}

std::shared_ptr<AnalysisResult> AblationSweepAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    auto result = std::make_shared<AblationSweep>();
    result->layers = info.layers;
    result->heads = info.heads;
    const std::vector<float> before = model.predict(context.input), gates = model.gates();
    result->target = resolved(target, before);
    const double whole = logitOf(result->target, before);
    result->whole = static_cast<float>(whole);
    const auto effect = [&] {
        return static_cast<float>(logitOf(result->target, model.predict(context.input)) - whole);
    };
    const int all = info.layers * (info.heads + 1);
    const auto report = [&](int done) {
        if (context.report) context.report(static_cast<float>(done) / static_cast<float>(all), "effect of each head");
    };
    result->headEffects.assign(gates.size(), 0);
    for (int site = 0; site < info.layers; ++site)
        for (int head = 0; head < info.site(site).heads; ++head) {
            report(site * info.heads + head);
            const auto at = static_cast<size_t>(site * info.heads + head);
            model.setGate(site, head, 0);
            result->headEffects[at] = effect();
            model.setGate(site, head, gates[at]);
        }
    // All MLPs are declared at once, so that one plan serves them.
    HookEdits edits = model.hookEdits();
    std::vector<std::string> hooks;
    for (int layer = 0; layer < info.layers; ++layer) {
        hooks.push_back(inBlock(layer, "hook_mlp_out"));
        if (std::ranges::find(info.hooks, hooks.back()) == info.hooks.end()) return result;
        edits.declare(hooks.back(), 1, info.structure.streams[static_cast<size_t>(info.site(layer).queryStream)].width);
    }
    for (size_t layer = 0; layer < hooks.size(); ++layer) {
        report(info.layers * info.heads + static_cast<int>(layer));
        HookEdits without = edits;
        without.add(hooks[layer], {.keep = 0});
        model.setHookEdits(std::move(without));
        result->mlpEffects.push_back(effect());
    }
    return result;
}

std::shared_ptr<AnalysisResult> PatchSweepAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    const Input other = otherInput(model, context, text);
    checkPatchable(model, hook);
    auto result = std::make_shared<PatchSweep>();
    result->hook = hook;
    result->layers = info.layers;
    result->tokens = context.input.isText() ? static_cast<int>(context.input.tokens().size()) : info.tokens();
    const HookEdits before = model.hookEdits();
    std::vector<std::string> names;
    for (int layer = 0; layer < info.layers; ++layer) names.push_back(inBlock(layer, hook));
    const auto values = model.capture(other, fmt::format("{}", fmt::join(names, ","))); // in the order of the layers
    const std::vector<float> otherLogits = model.predict(other), ownLogits = model.predict(context.input);
    result->compare(target, ownLogits, otherLogits);

    const HookEdits ready = declared(model, before, values);
    for (int layer = 0; layer < info.layers; ++layer) {
        const CapturedHook& from = values[static_cast<size_t>(layer)];
        const auto count = static_cast<size_t>(hook == kPattern ? from.shape[1] : from.shape[0]);
        std::vector<double> logits(count);
        model.setHookEdits(ready);
        model.predict(context.input);
        // Starts at the last row, because a cache still holds the rows before the patched one.
        for (size_t row = count; row-- > 0;) {
            if (context.report)
                context.report((static_cast<float>(layer) + 1 - static_cast<float>(row) / static_cast<float>(count)) /
                                   static_cast<float>(info.layers),
                               "effect of each value");
            model.setHookEdits(patched(ready, layer, from, row));
            logits[row] = logitOf(result->target, model.predictFrom(context.input, row));
        }
        const std::vector<int> rows = model.rowsOfInput(layer);
        for (int token = 0; token < result->tokens; ++token) {
            const int row = rows.empty() ? token : rows[static_cast<size_t>(token)];
            const double logit = logits[static_cast<size_t>(row)];
            result->rows.push_back(row);
            result->logits.push_back(static_cast<float>(logit));
            result->effects.push_back(result->shareOf(logit));
        }
    }
    return result;
}

std::shared_ptr<const Analysis> AblationSweepAnalysis::settled(const AnalysisResult& result) const {
    auto same = std::make_shared<AblationSweepAnalysis>(*this);
    same->target = static_cast<const AblationSweep&>(result).target;
    return same;
}

std::shared_ptr<const Analysis> PatchSweepAnalysis::settled(const AnalysisResult& result) const {
    auto same = std::make_shared<PatchSweepAnalysis>(*this);
    same->target = static_cast<const PatchSweep&>(result).target;
    return same;
}

} // namespace attn
