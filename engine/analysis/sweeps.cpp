#include "engine/analysis/sweeps.h"

#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/session/hook_edits.h"
#include "engine/session/language_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

/// The logits after the last token, from a complete run.
std::vector<float> logitsOf(LanguageModel& model, const std::vector<int>& tokens) {
    model.truncate(0);
    model.feed(tokens);
    return {model.logits().begin(), model.logits().end()};
}

} // namespace

std::shared_ptr<AnalysisResult> AblationSweepAnalysis::run(LanguageModel& model, const AnalysisInput& input) const {
    const auto& info = model.info();
    auto result = std::make_shared<AblationSweep>();
    result->layers = info.layers;
    result->heads = info.heads;
    const std::vector<float> before = logitsOf(model, input.tokens);
    result->target = resolved(target, before);
    result->whole = static_cast<float>(logitOf(result->target, before));
    const std::vector<float> gates = model.gates();
    const int all = info.layers * (info.heads + 1);
    const auto report = [&](int done) {
        if (input.report) input.report(static_cast<float>(done) / static_cast<float>(all), "effect of each head");
    };
    for (int layer = 0; layer < info.layers; ++layer)
        for (int head = 0; head < info.heads; ++head) {
            report(layer * info.heads + head);
            model.setGate(layer, head, 0);
            const double logit = logitOf(result->target, logitsOf(model, input.tokens));
            model.setGate(layer, head, gates[static_cast<size_t>(layer * info.heads + head)]);
            result->headEffects.push_back(static_cast<float>(logit) - result->whole);
        }
    // All MLPs are declared at once, so that one plan serves them.
    HookEdits edits = model.hookEdits();
    std::vector<std::string> hooks;
    for (int layer = 0; layer < info.layers; ++layer) {
        const std::string hook = fmt::format("blocks.{}.hook_mlp_out", layer);
        if (std::ranges::find(info.hooks, hook) == info.hooks.end()) return result;
        edits.declare(hook, 1, model.config().modelWidth);
        hooks.push_back(hook);
    }
    for (size_t layer = 0; layer < hooks.size(); ++layer) {
        report(info.layers * info.heads + static_cast<int>(layer));
        HookEdits without = edits;
        without.add(hooks[layer], {.keep = 0});
        model.setHookEdits(std::move(without));
        result->mlpEffects.push_back(static_cast<float>(logitOf(result->target, logitsOf(model, input.tokens))) -
                                     result->whole);
    }
    return result;
}

std::shared_ptr<AnalysisResult> PatchSweepAnalysis::run(LanguageModel& model, const AnalysisInput& input) const {
    const auto& info = model.info();
    const auto count = input.tokens.size();
    const std::vector<int> others = tokensOf(model, text);
    if (others.size() != count)
        throw Error(
            {.what = fmt::format("the prompt has {} tokens and the other text {}", count, others.size()),
             .where = "patch",
             .hint = "values are patched token by token: change a word so that both have the same number of tokens"});
    auto result = std::make_shared<PatchSweep>();
    result->hook = hook;
    result->layers = info.layers;
    result->tokens = static_cast<int>(count);
    const HookEdits before = model.hookEdits();
    const auto values = model.capture(others, "blocks.*." + hook);
    if (static_cast<int>(values.size()) != info.layers)
        throw Error(
            {.what = fmt::format("some layers have no {}", hook), .where = info.name, .hint = "use hook_resid_pre"});
    const std::vector<float> otherLogits = logitsOf(model, others), ownLogits = logitsOf(model, input.tokens);
    result->compare(target, ownLogits, otherLogits);

    HookEdits declared = before;
    for (const CapturedHook& each : values) {
        const auto width = each.shape.elements() / static_cast<int64_t>(count);
        declared.declare(each.name, each.shape.rank() == 3 ? each.shape[1] : 1, width);
    }
    result->logits.resize(values.size() * count);
    result->effects.resize(values.size() * count);
    for (size_t layer = 0; layer < values.size(); ++layer) {
        model.setHookEdits(declared);
        logitsOf(model, input.tokens);
        // Starts at the last token, because the cache still holds the tokens before the patched one.
        for (size_t token = count; token-- > 0;) {
            if (input.report)
                input.report(static_cast<float>((layer + 1) * count - token) /
                                 static_cast<float>(values.size() * count),
                             "effect of each value");
            const CapturedHook& from = values[layer];
            const size_t width = from.values.size() / count;
            const auto begin = from.values.begin() + static_cast<std::ptrdiff_t>(token * width);
            HookEdits edits = declared;
            edits.add(from.name, {.position = static_cast<int>(token),
                                  .keep = 0,
                                  .values = {begin, begin + static_cast<std::ptrdiff_t>(width)},
                                  .rows = 1});
            model.setHookEdits(std::move(edits));
            model.truncate(token);
            model.feed(std::span(input.tokens).subspan(token));
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
