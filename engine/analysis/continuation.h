#pragma once

#include "engine/analysis/analysis.h"

#include <string>
#include <vector>

namespace attn {

/// The text that a model writes after the current tokens, without and with its changes. Each step takes the most
/// probable token.
struct Continuation : AnalysisResult {
    std::vector<int> before, after; ///< tokens of the original and the changed run
    std::string textBefore, textAfter;
    void count(FiniteCount&) const override {} // sampleToken() refuses logits that are not finite
};

/// Computes Continuation.
struct ContinuationAnalysis : Analysis {
    int length = 24; ///< maximum number of tokens
    std::string key() const override { return "continuation"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
