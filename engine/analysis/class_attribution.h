#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_target.h"

#include <string>
#include <vector>

namespace attn {

/// The contribution of each component of a vision model to the logit of a class. Contributions cover all tokens that
/// the classifier reads and use the scale of the final norm in this run, so they sum to the logit. Everything before
/// the last merging or pooling of tokens is one component, "rest".
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits". For vision transformers: Gandelsman
///         et al. 2024, "Interpreting CLIP's Image Representation via Text-Based Decomposition", arXiv:2310.05916
struct ClassAttribution : AnalysisResult {
    LogitTarget target; ///< indices of classes
    float logit = 0;    ///< the logit as the model computes it
    std::vector<LogitAttribution::Component> components;
};

/// Computes ClassAttribution.
struct ClassAttributionAnalysis : Analysis {
    LogitTarget target; ///< token -1: the most likely class
    std::string key() const override { return "class_attribution"; }
    /// @throws Error if the model has no classifier, or its final norm is not a layer norm of one residual stream
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

/// The importance of each patch for the logit of a class, from the gradient with respect to its normalised pixels.
struct PatchAttribution : AnalysisResult {
    LogitTarget target;
    float logit = 0, baselineLogit = 0;    ///< for the picture, and for a picture of the mean colour
    std::vector<float> gradientTimesInput; ///< [patches]. @source Shrikumar et al. 2016, arXiv:1605.01713
    /// [patches] integrated from the mean colour to the picture with gaussLegendre(). They sum to logit -
    /// baselineLogit, up to the error of the rule. @source Sundararajan et al. 2017, arXiv:1703.01365
    std::vector<float> integratedGradients;
    int steps = 0; ///< nodes of the rule
};

/// Computes PatchAttribution.
struct PatchAttributionAnalysis : Analysis {
    LogitTarget target;
    int steps = 32; ///< nodes of the rule; 0: no integrated gradients
    std::string key() const override { return "patch_attribution"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
