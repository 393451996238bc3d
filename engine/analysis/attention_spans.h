#pragma once

#include "engine/analysis/analysis.h"

#include <string>
#include <vector>

namespace attn {

/// How far each head of a model has learned to look, in tokens: z of adaptive span and of dynamic span.
/// @source Sukhbaatar et al. 2019, "Adaptive Attention Span in Transformers", arXiv:1905.07799, section 2.2
struct AttentionSpans : AnalysisResult {
    /// The spans of one site.
    struct OfSite {
        int site = 0, heads = 0, queries = 0;
        double longest = 0;        ///< the longest span that a head could learn
        bool isDynamic = false;    ///< whether the spans differ from query to query
        std::vector<float> tokens; ///< [heads, queries]
        /// The mean span of a head over the queries.
        float mean(int head) const;
    };
    std::vector<OfSite> sites; ///< the sites with spans, in the order of the model
    void count(FiniteCount& numbers) const override {
        for (const OfSite& site : sites) numbers.add(site.tokens);
    }
};

/// Computes AttentionSpans.
struct AttentionSpansAnalysis : Analysis {
    std::string key() const override { return "spans"; }
    /// @throws Error if no attention of the model has spans
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
