#pragma once

#include "engine/attention/flow.h"

#include <functional>

namespace attn {

/// sum over the visible s of (a_t . b_s) v_s, and with `isNormalised` divided by the sum of (a_t . b_s): attention by
/// features, in time and memory linear in T. Everything is visible, or under a causal mask what lies not ahead: within
/// chunks the pattern is formed, from chunk to chunk a running sum of b_s v_s^T carries over.
/// @param a [B,H,T,F]  @param b [B,H,S,F]  @param v [B,H,S,D]  @return [B,H,T,D]
/// @source Katharopoulos et al. 2020, arXiv:2006.16236, section 3.3; chunks: Hua et al. 2022, arXiv:2202.10447,
/// section 3
Tensor featureMix(AttentionFlow& flow, Tensor a, Tensor b, Tensor v, bool isNormalised);

/// Sets the pattern that featureMix never forms, whole and as factors: side branches for views.
void featurePattern(AttentionFlow& flow, Tensor a, Tensor b, bool isNormalised);

/// Sets z and the pattern of a reference from the features of a query and a key. @param product of head, t and s
void referenceFeatureMix(ReferenceFlow& flow, const std::function<double(int64_t, int64_t, int64_t)>& product,
                         bool isNormalised);

} // namespace attn
