#pragma once

#include "engine/ops/ops.h"

// Operations for gradient rules. Shapes are as in ops.h; no tensor has a live length.

namespace attn {

struct PlainOptions {
    double scale = 1;
    Activation activation = Activation::None; ///< its derivative at `argument` multiplies the product
    Tensor argument{};                        ///< [...,N]
    std::optional<Tensor> residual{};         ///< [...,N], added last
};
/// x . w, reading w [K,N] by rows. @param x [...,K]  @return [...,N]
Tensor matmulPlain(Tensor x, Tensor w, const PlainOptions& options = {});
/// sum + term as a single matmulPlain, if a matmulPlain made each of them and the result has at most three products.
/// @return null otherwise
Tensor joinedProducts(Tensor sum, Tensor term);

struct Transposed {
    Tensor product; ///< [M,N]: scale * x^T . w over all rows
    Tensor sums;    ///< [M]: sums of x over all rows
};
/// Multiplies x^T by w, and sums x. @param x [...,M]  @param w [...,N]
Transposed matmulTransposed(Tensor x, Tensor w, double scale = 1);

/// f'(x) * dy, computed by the matmulPlain that makes dy if there is one.
Tensor activateGradient(Tensor x, Tensor dy, Activation activation);

/// sum + term, computed by the op that makes the term if it takes a residual. If another node also reads the term, the
/// term is computed twice.
Tensor addTo(Tensor sum, Tensor term);

/// Sums x over the axes along which broadcasting would repeat `shape`. @return a tensor of that shape
Tensor sumTo(Tensor x, const Shape& shape);

/// result[s,g,:] = sum over t and the heads h of group g of pattern[h,t,s] x[t,h,:].
/// @param pattern [H,T,S]  @param x [T,H,D]  @return [S,groups,D]
Tensor attentionMixTransposed(Tensor pattern, Tensor x, int64_t groups);

} // namespace attn
