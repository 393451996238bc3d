#pragma once

#include "engine/analysis/logit_target.h"
#include "engine/session/analysis.h"

#include <vector>

namespace attn {

/// How much each token of the input mattered to a logit, by the gradient of the logit by the token's embedding.
struct InputAttribution : AnalysisResult {
    int position = 0; ///< token after which the logit is
    LogitTarget target;
    float logit = 0, baselineLogit = 0;    ///< with the embeddings, and with the vocabulary's mean in their place
    std::vector<float> gradientTimesInput; ///< [tokens]. @source Shrikumar et al. 2016, arXiv:1605.01713
    /// [tokens] from the vocabulary's mean embedding to the embeddings, by gaussLegendre(): sums to logit -
    /// baselineLogit but for the rule's own error. From zeros nothing would sum up: norms make whole embeddings of the
    /// smallest ones, layer by layer. @source Sundararajan et al. 2017, arXiv:1703.01365
    std::vector<float> integratedGradients;
    int steps = 0; ///< nodes of the rule
};

struct InputAttributionAnalysis : Analysis {
    int position = -1; ///< -1: the last token
    LogitTarget target;
    int steps = 32;      ///< nodes of the rule; 0: no integrated gradients
    int mostSteps = 128; ///< as many are reached by doubling while the sum is off by more than 1 %
    std::string key() const override { return "input_attribution"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

} // namespace attn
