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

/// The logits after the last token, from a complete run.
std::vector<float> logitsOf(LanguageModel& model, const std::vector<int>& tokens) {
    model.truncate(0);
    model.feed(tokens);
    return {model.logits().begin(), model.logits().end()};
}

constexpr const char* kPattern = "attn.hook_pattern";

/// Whether a hook with these axes has one row for each token.
bool isByToken(const std::string& hook, const std::string& axes) {
    return axes == "TC" || axes == "THD" || axes == "TGD" || (axes == "HTS" && hook == kPattern);
}

/// @throws Error that names the hooks that can be patched
void checkPatchable(const LanguageModel& model, const std::string& hook) {
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
HookEdits declared(const LanguageModel& model, HookEdits edits, const std::vector<CapturedHook>& values) {
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

} // namespace

std::vector<std::string> patchableHooks(const LanguageModel& model) {
    const auto listing = buildForListing(model.config());
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

std::shared_ptr<AnalysisResult> AblationSweepAnalysis::run(RunningModel& running,
                                                           const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    const auto& info = model.info();
    auto result = std::make_shared<AblationSweep>();
    result->layers = info.layers;
    result->heads = info.heads;
    const std::vector<float> before = logitsOf(model, context.input.tokens());
    result->target = resolved(target, before);
    result->whole = static_cast<float>(logitOf(result->target, before));
    const std::vector<float> gates = model.gates();
    const int all = info.layers * (info.heads + 1);
    const auto report = [&](int done) {
        if (context.report) context.report(static_cast<float>(done) / static_cast<float>(all), "effect of each head");
    };
    for (int layer = 0; layer < info.layers; ++layer)
        for (int head = 0; head < info.heads; ++head) {
            report(layer * info.heads + head);
            model.setGate(layer, head, 0);
            const double logit = logitOf(result->target, logitsOf(model, context.input.tokens()));
            model.setGate(layer, head, gates[static_cast<size_t>(layer * info.heads + head)]);
            result->headEffects.push_back(static_cast<float>(logit) - result->whole);
        }
    // All MLPs are declared at once, so that one plan serves them.
    HookEdits edits = model.hookEdits();
    std::vector<std::string> hooks;
    for (int layer = 0; layer < info.layers; ++layer) {
        const std::string hook = inBlock(layer, "hook_mlp_out");
        if (std::ranges::find(info.hooks, hook) == info.hooks.end()) return result;
        edits.declare(hook, 1, model.config().modelWidth);
        hooks.push_back(hook);
    }
    for (size_t layer = 0; layer < hooks.size(); ++layer) {
        report(info.layers * info.heads + static_cast<int>(layer));
        HookEdits without = edits;
        without.add(hooks[layer], {.keep = 0});
        model.setHookEdits(std::move(without));
        result->mlpEffects.push_back(
            static_cast<float>(logitOf(result->target, logitsOf(model, context.input.tokens()))) - result->whole);
    }
    return result;
}

std::shared_ptr<AnalysisResult> PatchSweepAnalysis::run(RunningModel& running, const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    const auto& info = model.info();
    const auto count = context.input.tokens().size();
    const std::vector<int> others = tokensOf(model, text);
    if (others.size() != count)
        throw Error(
            {.what = fmt::format("the prompt has {} tokens and the other text {}", count, others.size()),
             .where = "patch",
             .hint = "values are patched token by token: change a word so that both have the same number of tokens"});
    checkPatchable(model, hook);
    auto result = std::make_shared<PatchSweep>();
    result->hook = hook;
    result->layers = info.layers;
    result->tokens = static_cast<int>(count);
    const HookEdits before = model.hookEdits();
    std::vector<std::string> names;
    for (int layer = 0; layer < info.layers; ++layer) names.push_back(inBlock(layer, hook));
    const auto values = model.capture(others, fmt::format("{}", fmt::join(names, ","))); // in the order of the layers
    const std::vector<float> otherLogits = logitsOf(model, others), ownLogits = logitsOf(model, context.input.tokens());
    result->compare(target, ownLogits, otherLogits);

    const HookEdits ready = declared(model, before, values);
    result->logits.resize(values.size() * count);
    result->effects.resize(values.size() * count);
    for (size_t layer = 0; layer < values.size(); ++layer) {
        model.setHookEdits(ready);
        logitsOf(model, context.input.tokens());
        // Starts at the last token, because the cache still holds the tokens before the patched one.
        for (size_t token = count; token-- > 0;) {
            if (context.report)
                context.report(static_cast<float>((layer + 1) * count - token) /
                                   static_cast<float>(values.size() * count),
                               "effect of each value");
            model.setHookEdits(patched(ready, static_cast<int>(layer), values[layer], token));
            model.truncate(token);
            model.feed(std::span(context.input.tokens()).subspan(token));
            const double logit = logitOf(result->target, model.logits());
            result->logits[layer * count + token] = static_cast<float>(logit);
            result->effects[layer * count + token] = result->shareOf(logit);
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
