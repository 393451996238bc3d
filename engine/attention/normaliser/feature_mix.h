#pragma once

#include "engine/attention/flow.h"

#include <functional>

namespace attn {

/// Attention by features, in time and memory linear in T: z is the sum over visible keys s of (a_t . b_s) v_s, divided
/// by the sum of (a_t . b_s) if `isNormalised`. The mask is full or causal. A causal mask is computed in chunks: the
/// pattern is formed within a chunk, and a running sum of b_s v_s^T carries over from chunk to chunk. In a step, it is
/// a state that carries over from step to step. Sets flow.z, and for views flow.pattern, flow.factors and, under a
/// causal mask, "features.states" [BH,S,F,D] and "features.recurrent" [B,H,S,D] unless they are too large to show.
/// @param a      [B,H,T,F]
/// @param ofKeys makes b [B,H,S,F] from keys
/// @source Katharopoulos et al. 2020, arXiv:2006.16236, section 3.3; chunks: Hua et al. 2022, arXiv:2202.10447,
/// section 3
void mixFeatures(AttentionFlow& flow, Tensor a, const std::function<Tensor(Tensor)>& ofKeys, bool isNormalised);

/// The sums of the rows that each query sees under a full or causal mask, with those of earlier steps.
/// @param name of the state  @param x [B,H,S,D], of a step its own tokens  @return [B,H,T|1,D]
Tensor visibleTotal(AttentionFlow& flow, const std::string& name, Tensor x);

/// Sets z and the pattern of a reference. @param product a_t . b_s as a function of head, t and s
void referenceFeatureMix(ReferenceFlow& flow, const std::function<double(int64_t, int64_t, int64_t)>& product,
                         bool isNormalised);

} // namespace attn
