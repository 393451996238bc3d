#pragma once

#include "engine/session/analysis.h"

#include <string>
#include <vector>

namespace attn {

/// What a model writes after the present tokens, always the likeliest token, without and with what is changed about it.
struct Continuation : AnalysisResult {
    std::vector<int> before, after; ///< tokens
    std::string textBefore, textAfter;
};

struct ContinuationAnalysis : Analysis {
    int length = 24; ///< most tokens
    std::string key() const override { return "continuation"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

} // namespace attn
