#pragma once

#include "engine/ops/ops.h"

// What gradient rules are made of. Shapes as in ops.h; every tensor is whole: none has a live length.

namespace attn {

/// x . w with w [K,N] read by rows. @param x [...,K]  @return [...,N], scale * product + residual
Tensor matmulPlain(Tensor x, Tensor w, double scale = 1, std::optional<Tensor> residual = {});
/// x^T . w over all rows. @param x [...,M]  @param w [...,N]  @return [M,N]
Tensor matmulTransposed(Tensor x, Tensor w, double scale = 1);
/// Sum over all rows. @param x [...,N]  @return [N]
Tensor columnSums(Tensor x);

/// f'(x) * dy
Tensor activateGradient(Tensor x, Tensor dy, Activation activation);

/// result[s,g,:] = sum over t and the heads h of group g of pattern[h,t,s] x[t,h,:].
/// @param pattern [H,T,S]  @param x [T,H,D]  @return [S,groups,D]
Tensor attentionMixTransposed(Tensor pattern, Tensor x, int64_t groups);

} // namespace attn
