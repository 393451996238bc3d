#pragma once

#include "engine/analysis/analysis.h"

#include <vector>

namespace attn {

/// The pattern of one head, scaled by the length of the values: a weight on a value of length zero moves nothing.
/// @source Kobayashi et al. 2020, "Attention is Not Only a Weight", arXiv:2004.10102, section 2.2
struct WeightedAttention : AnalysisResult {
    int site = 0, head = 0;
    int queries = 0, keys = 0;        ///< T and S, which differ in cross-attention
    std::vector<float> pattern;       ///< [T,S]
    std::vector<float> valueNorms;    ///< [S] Euclidean length of v
    std::vector<float> outputNorms;   ///< [S] Euclidean length of v times the head's part of W_O
    std::vector<float> valueWeighted; ///< [T,S] pattern * valueNorms[key]
    std::vector<float> normWeighted;  ///< [T,S] pattern * outputNorms[key]
    void count(FiniteCount& numbers) const override {
        for (const auto* each : {&pattern, &valueNorms, &outputNorms, &valueWeighted, &normWeighted})
            numbers.add(*each);
    }
};

/// Computes WeightedAttention.
struct WeightedAttentionAnalysis : Analysis {
    int site = 0, head = 0;
    std::string key() const override { return "weighted_attention"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
