#pragma once

#include "engine/analysis/logit_target.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// The effect of removing each head and each MLP of a model on a logit.
struct HeadEffects {
    LogitTarget target;
    int layers = 0, heads = 0;      ///< the largest number in a layer; heads that a layer lacks have no effect
    float whole = 0;                ///< the logit with nothing removed
    std::vector<float> headEffects; ///< [layers, heads] logit without the head, minus `whole`
    std::vector<float> mlpEffects;  ///< [layers] logit without the MLP, minus `whole`; empty: no MLPs
};

/// The effect on a logit of patching the value of each layer at each token from the run on another input.
/// @source Vig et al. 2020, "Causal Mediation Analysis for Interpreting Neural NLP: The Case of Gender Bias",
///         arXiv:2004.12265: the other run reads another text. The grid of layers and tokens follows the causal tracing
///         of Meng et al. 2022, "Locating and Editing Factual Associations in GPT", arXiv:2202.05262, section 2, which
///         differs: it adds noise to the embeddings and restores values of the run without noise.
struct PatchEffects {
    LogitTarget target;
    std::string hook; ///< the patched hook in each layer: "hook_resid_pre"
    int layers = 0, tokens = 0;
    float own = 0, other = 0;   ///< the logit of this run, and of the run that values are copied from
    std::vector<float> effects; ///< [layers, tokens] shareOf(logit): 0 is `own`, 1 is `other`, more goes past it
    std::vector<float> logits;  ///< [layers, tokens] the logit after each patch

    /// Sets `target`, `own` and `other`.
    /// @param asked token -1: the top prediction of the other run; other -1: that of this run, if it differs
    void compare(const LogitTarget& asked, std::span<const float> ownLogits, std::span<const float> otherLogits);
    /// (logit - own) / (other - own): the share of the gap that a patch closes; 0 if there is no gap.
    float shareOf(double logit) const;
};

} // namespace attn
