#pragma once

#include "engine/analysis/effects.h"
#include "engine/session/vision_analysis.h"

#include <string>
#include <vector>

namespace attn {

/// What removing each head and each MLP of a vision model does to the logit of a class.
struct ClassAblation : VisionAnalysisResult, HeadEffects {};

struct ClassAblationAnalysis : VisionAnalysis {
    LogitTarget target; ///< token -1: the likeliest class
    std::string key() const override { return "class_ablation"; }
    /// @throws Error where the model has no head
    std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const override;
};

/// What it does to the logit of a class when values are taken from the run of another picture. Tokens are those of the
/// first layer: what a token of several patches does stands at each of them.
struct ClassPatchSweep : VisionAnalysisResult, PatchEffects {
    std::vector<int> layerTokens; ///< [layers, tokens] the layer's own token that each is part of

    int tokenOf(int layer, int token) const { return layerTokens[static_cast<size_t>(layer * tokens + token)]; }
};

struct ClassPatchSweepAnalysis : VisionAnalysis {
    std::string hook = "hook_resid_pre"; ///< of each layer: "hook_resid_pre", "hook_attn_out", "hook_mlp_out"
    LogitTarget target; ///< token -1: the likeliest class of the other picture; other -1: of this one, where it differs
    std::string key() const override { return "class_patch_sweep"; }
    /// @throws Error where the model has no head or pools tokens, where the hook has no rows of tokens in the order of
    /// the grid, or where there is no other picture
    std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const override;
};

} // namespace attn
