#pragma once

#include "engine/analysis/analysis.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// How much of each input token reaches one token through all layers. The map of a layer is the mean pattern of its
/// heads, averaged with the identity for the skip connection.
struct TokenFlow : AnalysisResult {
    int query = 0;
    std::vector<float> rollout; ///< [tokens] product of the maps of all layers; sums to 1
    /// [tokens] the maximum flow from each token, scaled so that the sum is 1. The paper gives the maximum flows
    /// themselves. Empty beyond kMostTokens.
    std::vector<float> flow;
    static constexpr int kMostTokens = 128;
};

/// Computes TokenFlow.
/// @source Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv:2005.00928, section 3
struct TokenFlowAnalysis : Analysis {
    int query = -1; ///< -1: the last token
    std::string key() const override { return "token_flow"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

/// The maximum flow from each input token to token `query` of the last layer. The map of a layer gives the capacities
/// between the tokens below and above it.
/// @param maps one per layer, first to last: [T,T], rows above and columns below
/// @return [tokens] in the unit of the maps, not scaled
std::vector<double> maximumFlows(std::span<const std::vector<float>> maps, int tokens, int query);

} // namespace attn
