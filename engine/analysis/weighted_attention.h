#pragma once

#include "engine/session/analysis.h"

#include <vector>

namespace attn {

/// One head's pattern beside how much there is to carry: a weight on a value of length zero moves nothing.
/// @source Kobayashi et al. 2020, "Attention is Not Only a Weight", arXiv:2004.10102, section 2.2
struct WeightedAttention : AnalysisResult {
    int layer = 0, head = 0, tokens = 0;
    std::vector<float> pattern;       ///< [T,T]
    std::vector<float> valueNorms;    ///< [T] length of v
    std::vector<float> outputNorms;   ///< [T] length of v through the head's part of W_O
    std::vector<float> valueWeighted; ///< [T,T] pattern times valueNorms of the key
    std::vector<float> normWeighted;  ///< [T,T] pattern times outputNorms of the key
};

struct WeightedAttentionAnalysis : Analysis {
    int layer = 0, head = 0;
    std::string key() const override { return "weighted_attention"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

} // namespace attn
