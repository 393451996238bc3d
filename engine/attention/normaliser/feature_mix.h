#pragma once

#include "engine/attention/flow.h"

#include <functional>

namespace attn {

/// Features of queries or of keys: factors times the exponential of exponents. Exponents may be far beyond what an
/// exponential can hold, as only differences between them count.
struct Features {
    Tensor factors;   ///< [B,H,rows,F]; null: 1
    Tensor exponents; ///< [B,H,rows,F], or [B,H,rows,1] for all features alike; null: 0
    /// Whether the exponents of keys grow with the position, so no product of two tensors holds the whole pattern.
    bool decays = false;
    /// No exponential of an exponent overflows, so that features and states can be shown as they are.
    bool isBounded = false;
};
/// @param areNew the keys are a step's own, which follow those of earlier steps
using FeaturesOfKeys = std::function<Features(Tensor keys, bool areNew)>;

/// Attention by features, in time and memory linear in T: z is the sum over visible keys s of (a_t . b_s) v_s, divided
/// by the sum of (a_t . b_s) if `isNormalised`. The mask is full or causal. A causal mask is computed in chunks: the
/// pattern is formed within a chunk, and a running sum of b_s v_s^T carries over from chunk to chunk. In a step, it is
/// a state that carries over from step to step. Every sum is kept relative to the largest visible exponent of each
/// feature, as softmax does, so that it neither overflows nor vanishes at any length of queries and keys. Sets flow.z,
/// and for views flow.pattern, flow.factors and, under a causal mask, "features.states" [BH,S,F,D] and
/// "features.recurrent" [B,H,S,D] unless they are too large to show.
/// @param a      exponents only if the keys have some; if not normalised, no sum with a visible key's is above 0
/// @param ofKeys makes b from keys
/// @source Katharopoulos et al. 2020, arXiv:2006.16236, section 3.3; chunks: Hua et al. 2022, arXiv:2202.10447,
/// section 3
void mixFeatures(AttentionFlow& flow, const Features& a, const FeaturesOfKeys& ofKeys, bool isNormalised);

/// The features as views show them: relative to the largest of their row where an exponential could overflow.
Tensor shownFeatures(const Features& features);

/// The largest along an axis, and the largest of each index of an axis and those before it. Nothing is learned through
/// them: what is taken out of exponents changes no result.
Tensor largestOver(Tensor x, int axis);
Tensor runningMaximum(Tensor x, int axis);

/// The sum of each row and those before it, with those of earlier steps.
/// @param name of the state  @param x [B,H,S,D], of a step its own tokens  @return [B,H,S,D]
Tensor runningTotal(AttentionFlow& flow, const std::string& name, Tensor x);

/// Sums over the rows that each query sees, relative to the exponential of `largest`.
struct VisibleTotal {
    Tensor sums;    ///< [B,H,T|1,D]
    Tensor largest; ///< the same shape
};
/// The sums of exp(exponents) x over the rows that each query sees under a full or causal mask, with those of earlier
/// steps. @param name of the states  @param exponents, x [B,H,S,D], of a step its own tokens
VisibleTotal visibleTotal(AttentionFlow& flow, const std::string& name, Tensor exponents, Tensor x);

/// factor exp(exponent)
struct Weight {
    double factor = 0, exponent = 0;
};
/// Sets z and the pattern of a reference. @param product a_t . b_s as a function of head, t and s
void referenceFeatureMix(ReferenceFlow& flow, const std::function<Weight(int64_t, int64_t, int64_t)>& product,
                         bool isNormalised);

} // namespace attn
