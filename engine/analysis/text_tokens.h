#pragma once

#include "engine/analysis/analysis.h"

namespace attn {

/// The tokens of a text in a model.
struct TextTokens : AnalysisResult {
    std::string text;
    std::vector<int> tokens;
    void count(FiniteCount&) const override {}
};

/// Splits a text into tokens. Models without a tokenizer read token ids, "1,2,3".
struct TextTokensAnalysis : Analysis {
    std::string text;
    std::string key() const override { return "text tokens"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
