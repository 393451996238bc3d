#pragma once

#include "engine/analysis/whole_run.h"
#include "engine/session/analysis.h"

#include <vector>

namespace attn {

/// How much each token of the input mattered to a logit, by the gradient of the logit by the token's embedding.
struct InputAttribution : AnalysisResult {
    int position = 0; ///< token after which the logit is
    LogitTarget target;
    float logit = 0, baselineLogit = 0;    ///< with the embeddings, and with zeros in their place
    std::vector<float> gradientTimesInput; ///< [tokens]. @source Shrikumar et al. 2016, arXiv:1605.01713
    /// [tokens] from zeros to the embeddings, by the midpoint rule over the cube root of the share: sums to
    /// logit - baselineLogit but for the rule's own error. @source Sundararajan et al. 2017, arXiv:1703.01365
    std::vector<float> integratedGradients;
    int steps = 0;
};

struct InputAttributionAnalysis : Analysis {
    int position = -1; ///< -1: the last token
    LogitTarget target;
    int steps = 32; ///< of the rule; 0: no integrated gradients
    std::string key() const override { return "input_attribution"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

} // namespace attn
