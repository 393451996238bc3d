#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/effects.h"
#include "engine/analysis/logit_target.h"

#include <string>
#include <vector>

namespace attn {

class LanguageModel;

/// The effect of removing each head and each MLP on the logit of the next token.
struct AblationSweep : AnalysisResult, HeadEffects {};

/// Computes AblationSweep.
struct AblationSweepAnalysis : Analysis {
    LogitTarget target;
    std::string key() const override { return "ablation_sweep"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

/// The hooks that every layer has and that can be patched token by token, without their layer: "hook_resid_pre",
/// "attn.hook_z" ... Patching a token in "attn.hook_pattern" replaces its query row in all heads.
std::vector<std::string> patchableHooks(const LanguageModel& model);

/// The effect on the logit of the next token of patching values from the run on another text.
struct PatchSweep : AnalysisResult, PatchEffects {};

/// Computes PatchSweep.
struct PatchSweepAnalysis : Analysis {
    std::string text; ///< the other text; must have as many tokens as the current sequence
    /// The patched hook of each layer: one of patchableHooks().
    std::string hook = "hook_resid_pre";
    LogitTarget target; ///< token -1: the top prediction of the other text; other -1: that of the prompt
    std::string key() const override { return "patch_sweep"; }
    /// @throws Error where the text has another number of tokens, or the hook cannot be patched token by token
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

} // namespace attn
