#include "engine/analysis/continuation.h"

#include "engine/inference/language_model.h"
#include "engine/inference/sampling.h"
#include "engine/inference/token_limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

std::string textOf(const LanguageModel& model, const std::vector<int>& tokens) {
    return model.tokenizer() ? model.tokenizer()->decode(tokens, true) : fmt::format("{}", fmt::join(tokens, ", "));
}

} // namespace

std::shared_ptr<AnalysisResult> ContinuationAnalysis::run(RunningModel& running, const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    auto result = std::make_shared<Continuation>();
    const std::vector<int> stops = model.source().stopTokens();
    const GenerationRules& rules = model.source().generation();
    const Bypassed bypassed(model);
    for (const bool isChanged : {false, true}) {
        model.bypassChanges(!isChanged);
        model.truncate(0);
        model.setSides(context.input.text());
        model.feed(context.input.tokens());
        std::vector<int>& written = isChanged ? result->after : result->before;
        while (static_cast<int>(written.size()) < length &&
               static_cast<int>(model.tokens().size()) < model.capacity()) {
            if (context.report)
                context.report((isChanged ? 0.5f : 0.0f) +
                                   0.5f * static_cast<float>(written.size()) / static_cast<float>(length),
                               "continuations");
            const std::vector<int> all(model.tokens().begin(), model.tokens().end());
            const size_t given = all.size() - written.size(),
                         most = mostTokens(rules, given, static_cast<size_t>(model.capacity()));
            const int token = sampleToken(model.logits(), {}, {}, 0, tokenLimits(rules, all, given, most)).token;
            if (std::ranges::find(stops, token) != stops.end()) break;
            written.push_back(token);
            model.feed(std::span(&written.back(), 1));
        }
    }
    result->textBefore = textOf(model, result->before);
    result->textAfter = textOf(model, result->after);
    return result;
}

} // namespace attn
