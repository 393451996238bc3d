#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/effects.h"

#include <string>
#include <vector>

namespace attn {

/// The effect of removing each head and each MLP of a vision model on the logit of a class.
struct ClassAblation : AnalysisResult, HeadEffects {};

/// Computes ClassAblation.
struct ClassAblationAnalysis : Analysis {
    LogitTarget target; ///< token -1: the most likely class
    std::string key() const override { return "class_ablation"; }
    /// @throws Error if the model has no classifier
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

/// The effect on the logit of a class of patching values from the run on another picture. Tokens are those of the first
/// layer: the effect of a merged token is repeated at each patch in it.
struct ClassPatchSweep : AnalysisResult, PatchEffects {
    std::vector<int> layerTokens; ///< [layers, tokens] the layer's token that contains each token

    int tokenOf(int layer, int token) const { return layerTokens[static_cast<size_t>(layer * tokens + token)]; }
};

/// Computes ClassPatchSweep.
struct ClassPatchSweepAnalysis : Analysis {
    std::string hook = "hook_resid_pre"; ///< in each layer: "hook_resid_pre", "hook_attn_out", "hook_mlp_out"
    /// token -1: the most likely class of the other picture; other -1: that of this picture, if it differs.
    LogitTarget target;
    std::string key() const override { return "class_patch_sweep"; }
    /// @throws Error if the model has no classifier or pools tokens, if the hook's rows are not tokens in the order of
    /// the grid, or if there is no other picture
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
