#pragma once

#include "engine/attention/flow.h"

namespace attn {

/// Fused attention of some heads under a fixed mask, for parts whose other heads choose their keys in another way.
/// @param mask without content terms, the same for every head  @param q, k, v [B,heads,T,D]  @return z [B,heads,T,D]
Tensor localAttention(AttentionFlow& flow, const MaskExpression& mask, Tensor q, Tensor k, Tensor v);

} // namespace attn
