#pragma once

#include "engine/attention/flow.h"

#include <functional>

namespace attn {

/// The features of keys, and how much each key counts: b_s = features_s exp(logWeight_s). A log weight may be far
/// beyond what an exponential can hold, as only its difference from the largest visible one counts.
struct KeyFeatures {
    Tensor features;  ///< [B,H,S,F]
    Tensor logWeight; ///< [B,H,S,1]; null: 0. Only for normalised attention
    bool decays;      ///< log weights grow with the position, so no product of two tensors holds the whole pattern

    KeyFeatures(Tensor of, Tensor weight = {}, bool grows = false) : features(of), logWeight(weight), decays(grows) {}
};
/// @param areNew the keys are a step's own, which go on after those of earlier steps
using KeyFeaturesOf = std::function<KeyFeatures(Tensor keys, bool areNew)>;

/// Attention by features, in time and memory linear in T: z is the sum over visible keys s of (a_t . b_s) v_s, divided
/// by the sum of (a_t . b_s) if `isNormalised`. The mask is full or causal. A causal mask is computed in chunks: the
/// pattern is formed within a chunk, and a running sum of b_s v_s^T carries over from chunk to chunk. In a step, it is
/// a state that carries over from step to step. Sums are kept relative to the largest weight so far, so that they
/// neither overflow nor vanish. Sets flow.z, and for views flow.pattern, flow.factors and, under a causal mask,
/// "features.states" [BH,S,F,D] and "features.recurrent" [B,H,S,D] unless they are too large to show.
/// @param a      [B,H,T,F]
/// @param ofKeys makes b from keys
/// @source Katharopoulos et al. 2020, arXiv:2006.16236, section 3.3; chunks: Hua et al. 2022, arXiv:2202.10447,
/// section 3
void mixFeatures(AttentionFlow& flow, Tensor a, const KeyFeaturesOf& ofKeys, bool isNormalised);

/// The sum of each row and those before it, with those of earlier steps.
/// @param name of the state  @param x [B,H,S,D], of a step its own tokens  @return [B,H,S,D]
Tensor runningTotal(AttentionFlow& flow, const std::string& name, Tensor x);

/// The sums of the rows that each query sees under a full or causal mask, with those of earlier steps.
/// @param name of the state  @param x [B,H,S,D], of a step its own tokens  @return [B,H,T|1,D]
Tensor visibleTotal(AttentionFlow& flow, const std::string& name, Tensor x);

/// Sets z and the pattern of a reference. @param product a_t . b_s as a function of head, t and s
void referenceFeatureMix(ReferenceFlow& flow, const std::function<double(int64_t, int64_t, int64_t)>& product,
                         bool isNormalised);

} // namespace attn
