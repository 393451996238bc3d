#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/logit_target.h"

#include <vector>

namespace attn {

/// The importance of each token or patch of the input for a logit, from the gradient with respect to the embedding of
/// the token or the normalised pixels of the patch.
struct InputAttribution : AnalysisResult {
    int position = 0; ///< of texts: the row whose logit it is, of the token after it or of a class of the text
    LogitTarget target;
    float logit = 0, baselineLogit = 0; ///< with the input, and with the baseline instead
    /// [rows] tokens of the source, if the model reads one, then of the text; or patches.
    std::vector<float> gradientTimesInput; ///< @source Shrikumar et al. 2016, arXiv:1605.01713
    /// [rows] integrated from the baseline to the input with gaussLegendre(). They sum to logit - baselineLogit, up to
    /// the error of the rule. The baseline of texts is the vocabulary mean, not zero, because norms scale even tiny
    /// embeddings up to full length, and the sum would not converge. That of pictures is the mean colour.
    /// @source Sundararajan et al. 2017, arXiv:1703.01365
    std::vector<float> integratedGradients;
    int steps = 0; ///< nodes of the rule
    void count(FiniteCount& numbers) const override {
        for (const auto* each : {&gradientTimesInput, &integratedGradients}) numbers.add(*each);
        numbers.add(logit);
        numbers.add(baselineLogit);
    }
};

/// Computes InputAttribution.
struct InputAttributionAnalysis : Analysis {
    int position = -1; ///< of texts; -1: the row that the readout reads, RunningModel::predictedRow()
    LogitTarget target;
    int steps = 32;      ///< nodes of the rule; 0: no integrated gradients
    int mostSteps = 128; ///< `steps` doubles up to this number while the sum is off by more than 1 %
    std::string key() const override { return "input_attribution"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

} // namespace attn
