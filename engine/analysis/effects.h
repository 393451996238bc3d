#pragma once

#include "engine/analysis/logit_target.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// The effect of removing each head and each MLP of a model on a logit.
struct HeadEffects {
    LogitTarget target;
    int sites = 0, heads = 0;       ///< the largest number in a site; heads that a site lacks have no effect
    float whole = 0;                ///< the logit with nothing removed
    std::vector<float> headEffects; ///< [sites, heads] logit without the head, minus `whole`
    /// [sites] logit without the MLP after the site, minus `whole`; NaN: another site of its block comes first. Empty:
    /// there are no MLPs.
    std::vector<float> mlpEffects;
};

/// A logit in a run, and in the run on another input from which values are copied: patches close the gap between them.
struct PatchGap {
    LogitTarget target;
    float own = 0, other = 0; ///< the logit of this run, and of the run that values are copied from

    /// Sets `target`, `own` and `other`.
    /// @param model whose logits they are
    /// @param asked token -1: the top prediction of the other run; other -1: that of this run, if it differs
    void compare(const ModelInfo& model, const LogitTarget& asked, std::span<const float> ownLogits,
                 std::span<const float> otherLogits);
    bool hasGap() const; ///< whether `own` and `other` differ by more than 1e-9, or are no numbers
    /// (logit - own) / (other - own): the share of the gap that a patch closes. Only if there is a gap.
    float shareOf(double logit) const;
};

/// The effect on a logit of patching the output of each head, at all tokens, from the run on another input.
/// @source Vig et al. 2020, arXiv:2004.12265, section 3 (indirect effects of heads); Wang et al. 2022,
/// "Interpretability
///         in the Wild", arXiv:2211.00593, patch along chosen paths, which ours does not: later layers react to a patch
struct HeadPatchEffects : PatchGap {
    int sites = 0, heads = 0;   ///< the largest number in a site
    std::vector<float> effects; ///< [sites, heads] shareOf(logit); NaN: there is no such head
    std::vector<float> logits;  ///< [sites, heads] the logit after each patch; NaN: there is no such head
};

/// The effect on a logit of patching the value of each block at each token from the run on another input.
/// @source Vig et al. 2020, "Causal Mediation Analysis for Interpreting Neural NLP: The Case of Gender Bias",
///         arXiv:2004.12265: the other run reads another text. The grid of layers and tokens follows the causal tracing
///         of Meng et al. 2022, "Locating and Editing Factual Associations in GPT", arXiv:2202.05262, section 2, which
///         differs: it adds noise to the embeddings and restores values of the run without noise.
struct PatchEffects : PatchGap {
    std::string hook;       ///< the patched hook in each block: "hook_resid_pre"
    std::vector<int> sites; ///< of each block that has the hook: its first site
    int tokens = 0;         ///< of the source, if the model reads one, then of the text
    /// [blocks, tokens] shareOf(logit): 0 is `own`, 1 is `other`, more goes past it. NaN: no token of the block's
    /// stream.
    std::vector<float> effects;
    std::vector<float> logits; ///< [blocks, tokens] the logit after each patch
};

} // namespace attn
