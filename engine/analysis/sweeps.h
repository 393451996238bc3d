#pragma once

#include "engine/analysis/effects.h"
#include "engine/analysis/logit_target.h"
#include "engine/session/analysis.h"

#include <string>
#include <vector>

namespace attn {

/// What removing each head and each MLP does to the logit after the last token.
struct AblationSweep : AnalysisResult, HeadEffects {};

struct AblationSweepAnalysis : Analysis {
    LogitTarget target;
    std::string key() const override { return "ablation_sweep"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

/// What it does to the logit after the last token when values are taken from the run of another text.
struct PatchSweep : AnalysisResult, PatchEffects {};

struct PatchSweepAnalysis : Analysis {
    std::string text; ///< of as many tokens as the present sequence
    std::string hook =
        "hook_resid_pre"; ///< of each layer: "hook_resid_pre", "hook_attn_out", "hook_mlp_out", "attn.hook_z"
    LogitTarget target;   ///< token -1: what the text's own run says; other -1: what the prompt's run says
    std::string key() const override { return "patch_sweep"; }
    std::shared_ptr<AnalysisResult> run(LanguageModel& model, const AnalysisInput& input) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

} // namespace attn
