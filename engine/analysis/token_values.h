#pragma once

#include "engine/analysis/analysis.h"

#include <string>
#include <vector>

namespace attn {

struct ModelInfo;

/// The numbers of a hook at every token or patch, such as the states of a recurrent layer.
struct TokenValues : AnalysisResult {
    int site = 0;     ///< in whose block the hook is
    std::string hook; ///< "blocks.0.attn.hook_state"
    int rows = 0, units = 0;
    std::vector<float> values; ///< [rows, units]
    void count(FiniteCount& numbers) const override { numbers.add(values); }
};

/// The hooks of a site with a number for each unit at each token, and those of the block around it. First comes the one
/// that says most: the state of a mixer that keeps one, else the residual stream after the block.
std::vector<std::string> tokenHooks(const ModelInfo& model, int site);

/// Computes TokenValues.
struct TokenValuesAnalysis : Analysis {
    int site = 0;
    std::string hook{}; ///< one of tokenHooks(); empty: the first
    std::string key() const override { return "token_values"; }
    /// @throws Error if the model has no such hook, or if there are too many numbers to draw
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
