#pragma once

#include "engine/ops/ops.h"

// What gradient rules are made of. Shapes as in ops.h; every tensor is whole: none has a live length.

namespace attn {

struct PlainOptions {
    double scale = 1;
    Activation activation = Activation::None; ///< whose derivative at `argument` the product is multiplied by
    Tensor argument{};                        ///< [...,N]
    std::optional<Tensor> residual{};         ///< [...,N], added last
};
/// x . w with w [K,N] read by rows. @param x [...,K]  @return [...,N]
Tensor matmulPlain(Tensor x, Tensor w, const PlainOptions& options = {});
/// sum + term as one matmulPlain of the products of both, if both are made by one and no more than three products come
/// together; null otherwise.
Tensor joinedProducts(Tensor sum, Tensor term);

struct Transposed {
    Tensor product; ///< [M,N]: scale * x^T . w over all rows
    Tensor sums;    ///< [M]: of x over all rows
};
/// @param x [...,M]  @param w [...,N]
Transposed matmulTransposed(Tensor x, Tensor w, double scale = 1);

/// f'(x) * dy, within the matmulPlain that makes dy if one does.
Tensor activateGradient(Tensor x, Tensor dy, Activation activation);

/// sum + term, within the op that makes the term if that takes a residual. Whoever asked for the term alone has it made
/// twice.
Tensor addTo(Tensor sum, Tensor term);

/// Sums of x over the axes along which `shape` would be repeated to become x's. @return of that shape
Tensor sumTo(Tensor x, const Shape& shape);

/// result[s,g,:] = sum over t and the heads h of group g of pattern[h,t,s] x[t,h,:].
/// @param pattern [H,T,S]  @param x [T,H,D]  @return [S,groups,D]
Tensor attentionMixTransposed(Tensor pattern, Tensor x, int64_t groups);

} // namespace attn
