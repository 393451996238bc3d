#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/effects.h"
#include "engine/analysis/logit_target.h"

#include <map>
#include <string>
#include <vector>

namespace attn {

class RunningModel;

/// The effect of removing each head and each MLP on a logit of the readout.
struct AblationSweep : AnalysisResult, HeadEffects {
    void count(FiniteCount& numbers) const override {
        numbers.add(whole);
        numbers.addExisting(headEffects); // layers may have fewer heads
    }
};

/// Computes AblationSweep.
struct AblationSweepAnalysis : Analysis {
    LogitTarget target;
    std::string key() const override { return "ablation_sweep"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

/// The hooks that every block of a stack has and that can be patched token by token, without their block:
/// "hook_resid_pre", "attn.hook_z" ... Patching a token in "attn.hook_pattern" replaces its query row in all heads.
std::vector<std::string> patchableHooks(const RunningModel& model);

/// The effect on a logit of patching values from the run on another text or picture. Tokens are the rows of the input:
/// the effect of a row that contains several patches is repeated at each of them.
struct PatchSweep : AnalysisResult, PatchEffects {
    std::vector<int> rows; ///< [blocks, tokens] the row of the block's stream that contains each token; -1: none
    /// Of texts: for each token that differs in the other text, the token there. Empty if the model reads a source.
    std::map<int, int> otherTokens;

    void count(FiniteCount& numbers) const override {
        numbers.add(own);
        numbers.add(other);
    }
    int rowOf(int block, int token) const { return rows[static_cast<size_t>(block * tokens + token)]; }
};

/// Computes PatchSweep.
struct PatchSweepAnalysis : Analysis {
    /// The other text, with as many tokens as the current one; or the other source, if the model reads one. For
    /// pictures, AnalysisContext::other is used.
    std::string text;
    /// The patched hook of each block: one of patchableHooks().
    std::string hook = "hook_resid_pre";
    LogitTarget target; ///< token -1: the top prediction of the other run; other -1: that of this run
    std::string key() const override { return "patch_sweep"; }
    /// @throws Error where the text has another number of tokens, there is no other picture, or rows of the hook do not
    ///         correspond
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

/// The effect on a logit of patching each head from the run on another text or picture.
struct HeadPatchSweep : AnalysisResult, HeadPatchEffects {
    void count(FiniteCount& numbers) const override {
        numbers.add(own);
        numbers.add(other);
        numbers.addExisting(effects);
    }
};

/// Computes HeadPatchSweep.
struct HeadPatchAnalysis : Analysis {
    std::string text;   ///< as of PatchSweepAnalysis
    LogitTarget target; ///< as of PatchSweepAnalysis
    std::string key() const override { return "head_patches"; }
    /// @throws Error as PatchSweepAnalysis with the hook attn.hook_z
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
    std::shared_ptr<const Analysis> settled(const AnalysisResult& result) const override;
};

} // namespace attn
