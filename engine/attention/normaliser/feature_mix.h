#pragma once

#include "engine/attention/flow.h"

#include <functional>

namespace attn {

/// Attention by features, in time and memory linear in T: the sum over visible keys s of (a_t . b_s) v_s, divided by
/// the sum of (a_t . b_s) if `isNormalised`. The mask is full or causal. A causal mask is computed in chunks: the
/// pattern is formed within a chunk, and a running sum of b_s v_s^T carries over from chunk to chunk.
/// @param a [B,H,T,F]  @param b [B,H,S,F]  @param v [B,H,S,D]  @return [B,H,T,D]
/// @source Katharopoulos et al. 2020, arXiv:2006.16236, section 3.3; chunks: Hua et al. 2022, arXiv:2202.10447,
/// section 3
Tensor featureMix(AttentionFlow& flow, Tensor a, Tensor b, Tensor v, bool isNormalised);

/// Sets flow.pattern and flow.factors to the pattern that featureMix never forms. Both are side branches for views.
void featurePattern(AttentionFlow& flow, Tensor a, Tensor b, bool isNormalised);

/// Sets z and the pattern of a reference. @param product a_t . b_s as a function of head, t and s
void referenceFeatureMix(ReferenceFlow& flow, const std::function<double(int64_t, int64_t, int64_t)>& product,
                         bool isNormalised);

} // namespace attn
