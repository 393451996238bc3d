#pragma once

#include "engine/analysis/logit_attribution.h"
#include "engine/analysis/logit_target.h"
#include "engine/session/vision_analysis.h"

#include <string>
#include <vector>

namespace attn {

/// What each part of a vision model adds to the logit of a class, through all tokens that the head reads and under the
/// final norm's own scale: the numbers sum to the logit. What lies before the last merge of tokens is one part, "rest",
/// and so is what lies before the last pooling.
/// @source Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; of vision transformers: Gandelsman
/// et
///         al. 2024, "Interpreting CLIP's Image Representation via Text-Based Decomposition", arXiv:2310.05916
struct ClassAttribution : VisionAnalysisResult {
    LogitTarget target; ///< classes
    float logit = 0;    ///< as the model computes it
    std::vector<LogitAttribution::Component> components;
};

struct ClassAttributionAnalysis : VisionAnalysis {
    LogitTarget target; ///< token -1: the likeliest class
    std::string key() const override { return "class_attribution"; }
    /// @throws Error where the model has no head, or its final norm is not a layer norm of one stream
    std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const override;
};

/// How much each patch mattered to the logit of a class, by its gradient by the patch's normalised pixels.
struct PatchAttribution : VisionAnalysisResult {
    LogitTarget target;
    float logit = 0, baselineLogit = 0;    ///< of the picture, and of one of the mean colour
    std::vector<float> gradientTimesInput; ///< [patches]. @source Shrikumar et al. 2016, arXiv:1605.01713
    /// [patches] from the mean colour to the picture by gaussLegendre(): sums to logit - baselineLogit but for the
    /// rule's own error. @source Sundararajan et al. 2017, arXiv:1703.01365
    std::vector<float> integratedGradients;
    int steps = 0;
};

struct PatchAttributionAnalysis : VisionAnalysis {
    LogitTarget target;
    int steps = 32; ///< nodes of the rule; 0: no integrated gradients
    std::string key() const override { return "patch_attribution"; }
    std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const override;
};

} // namespace attn
