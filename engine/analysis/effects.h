#pragma once

#include "engine/analysis/logit_target.h"

#include <span>
#include <string>
#include <vector>

namespace attn {

/// What removing each head and each MLP of a model does to a logit.
struct HeadEffects {
    LogitTarget target;
    int layers = 0, heads = 0;      ///< of the layer that has most; those that others lack have no effect
    float whole = 0;                ///< with everything there
    std::vector<float> headEffects; ///< [layers, heads] what the logit becomes less `whole`
    std::vector<float> mlpEffects;  ///< [layers]; empty: there are none
};

/// What it does to a logit when the value of each layer at each token is taken from another run.
/// @source Meng et al. 2022, "Locating and Editing Factual Associations in GPT", arXiv:2202.05262, section 2
struct PatchEffects {
    LogitTarget target;
    std::string hook; ///< of each layer: "hook_resid_pre"
    int layers = 0, tokens = 0;
    float own = 0, other = 0;   ///< the logit of the present run, and of the one that values are taken from
    std::vector<float> effects; ///< [layers, tokens]: share of the way from `own` to `other`; beyond where `other` is
    std::vector<float> logits;  ///< [layers, tokens]

    /// Sets the target, `own` and `other`. @param asked token -1: what the other run says; other -1: what the present
    /// one says, where it differs
    void compare(const LogitTarget& asked, std::span<const float> ownLogits, std::span<const float> otherLogits);
    /// Of the way from `own` to `other`; 0 where both are the same.
    float shareOf(double logit) const;
};

} // namespace attn
