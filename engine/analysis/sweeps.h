#pragma once

#include "engine/analysis/whole_run.h"
#include "engine/session/analysis.h"

#include <string>
#include <vector>

namespace attn {

/// What removing each head and each MLP does to the logit after the last token.
struct AblationSweep : AnalysisResult {
    LogitTarget target;
    int layers = 0, heads = 0;
    float whole = 0;                ///< with everything there
    std::vector<float> headEffects; ///< [layers, heads] what the logit becomes less `whole`
    std::vector<float> mlpEffects;  ///< [layers]; empty: there are none
};

struct AblationSweepAnalysis : Analysis {
    LogitTarget target;
    std::string key() const override { return "ablation_sweep"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

/// What it does to the logit when the value of each layer at each token is taken from another run.
/// @source Meng et al. 2022, "Locating and Editing Factual Associations in GPT", arXiv:2202.05262, section 2
struct PatchSweep : AnalysisResult {
    LogitTarget target;
    std::string hook; ///< as in PatchSweepAnalysis
    int layers = 0, tokens = 0;
    float own = 0, other = 0;   ///< the logit of the prompt, and of the text that values are taken from
    std::vector<float> effects; ///< [layers, tokens]: share of the way from `own` to `other`; beyond where `other` is
    std::vector<float> logits;  ///< [layers, tokens]
};

struct PatchSweepAnalysis : Analysis {
    std::string text; ///< of as many tokens as the present sequence
    std::string hook =
        "hook_resid_pre"; ///< of each layer: "hook_resid_pre", "hook_attn_out", "hook_mlp_out", "attn.hook_z"
    LogitTarget target;   ///< token -1: what the text's own run says; other -1: what the prompt's run says
    std::string key() const override { return "patch_sweep"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
};

} // namespace attn
