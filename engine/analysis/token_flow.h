#pragma once

#include "engine/session/analysis.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// How much of each token of the input reaches one token through all layers, if a residual passes one half on and the
/// mean of a layer's heads the other.
struct TokenFlow : AnalysisResult {
    int query = 0;
    std::vector<float> rollout; ///< [tokens], sums to 1: the product of the layers' maps
    /// [tokens] the most that could flow from the token, as through pipes, scaled to sum 1. Empty beyond kMostTokens.
    std::vector<float> flow;
    static constexpr int kMostTokens = 128;
};

/// @source Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv:2005.00928, section 3
struct TokenFlowAnalysis : Analysis {
    int query = -1; ///< -1: the last token
    std::string key() const override { return "token_flow"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

/// The largest flow from each token of the first layer to `query` of the last, where the map of a layer says what
/// passes from a token below to one above.
/// @param maps of each layer, first to last, [T,T] rows above and columns below
std::vector<double> maximumFlows(std::span<const std::vector<float>> maps, int tokens, int query);

} // namespace attn
