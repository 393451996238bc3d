#include "engine/analysis/attention_spans.h"

#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/inference/running_model.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace attn {
namespace {

/// The longest span of a mask; none if it has no spans.
std::optional<double> longestOf(const AttentionSpec& spec) {
    for (const MaskExpression::ContentTerm& term : spec.mask.contentTerms())
        for (size_t i = 0; i < term.part->params.size(); ++i)
            if (term.part->params[i].id == "span") return term.values[i];
    return {};
}

} // namespace

float AttentionSpans::OfSite::mean(int head) const {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(head) * queries;
    return std::accumulate(begin, begin + queries, 0.0f) / static_cast<float>(queries);
}

std::shared_ptr<AnalysisResult> AttentionSpansAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    auto result = std::make_shared<AttentionSpans>();
    for (int site = 0; site < static_cast<int>(info.structure.sites.size()); ++site)
        if (const auto longest = longestOf(model.attentionOf(site).spec))
            result->sites.push_back({.site = site, .longest = *longest, .tokens = {}});
    if (result->sites.empty())
        throw Error({.what = "no head of this model has a span that it could learn",
                     .where = info.name,
                     .hint = "train a model with adaptive_span or dynamic_span in its mask"});
    std::string hooks;
    for (const AttentionSpans::OfSite& of : result->sites)
        hooks += (hooks.empty() ? "" : ",") + info.site(of.site).hook("span");
    const std::vector<CapturedHook> captured = model.capture(context.input, hooks); // [T,H] each
    for (AttentionSpans::OfSite& of : result->sites) {
        const CapturedHook& hook = *std::ranges::find(captured, info.site(of.site).hook("span"), &CapturedHook::name);
        of.queries = static_cast<int>(hook.shape[0]);
        of.heads = static_cast<int>(hook.shape[1]);
        for (int head = 0; head < of.heads; ++head)
            for (int query = 0; query < of.queries; ++query) {
                of.tokens.push_back(hook.values[static_cast<size_t>(query * of.heads + head)]);
                of.isDynamic = of.isDynamic || of.tokens.back() != hook.values[static_cast<size_t>(head)];
            }
    }
    return result;
}

} // namespace attn
