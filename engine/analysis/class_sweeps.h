#pragma once

#include "engine/analysis/logit_target.h"
#include "engine/session/vision_analysis.h"

#include <string>
#include <vector>

namespace attn {

/// What removing each head and each MLP of a vision model does to the logit of a class.
struct ClassAblation : VisionAnalysisResult {
    LogitTarget target;
    int layers = 0, heads = 0;      ///< of the layer that has most; those that others lack have no effect
    float whole = 0;                ///< with everything there
    std::vector<float> headEffects; ///< [layers, heads] what the logit becomes less `whole`
    std::vector<float> mlpEffects;  ///< [layers]; empty: there are none
};

struct ClassAblationAnalysis : VisionAnalysis {
    LogitTarget target; ///< token -1: the likeliest class
    std::string key() const override { return "class_ablation"; }
    /// @throws Error where the model has no head
    std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const override;
};

/// What it does to the logit of a class when the value of each layer at each token is taken from another picture.
/// @source Meng et al. 2022, "Locating and Editing Factual Associations in GPT", arXiv:2202.05262, section 2
struct ClassPatchSweep : VisionAnalysisResult {
    LogitTarget target;
    std::string hook; ///< as in ClassPatchSweepAnalysis
    int layers = 0, tokens = 0;
    float own = 0, other = 0;   ///< the logit of the picture, and of the one that values are taken from
    std::vector<float> effects; ///< [layers, tokens]: share of the way from `own` to `other`
};

struct ClassPatchSweepAnalysis : VisionAnalysis {
    std::string hook = "hook_resid_pre"; ///< of each layer: "hook_resid_pre", "hook_attn_out", "hook_mlp_out"
    LogitTarget target; ///< token -1: the likeliest class of the other picture; other -1: of this one, where it differs
    std::string key() const override { return "class_patch_sweep"; }
    /// @throws Error where the model has no head or merges tokens, or there is no other picture
    std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const override;
};

} // namespace attn
