#pragma once

#include "engine/attention/flow.h"

#include <array>
#include <cmath>
#include <string>

// Short names for expressions that parts use often.

namespace attn::terms {

inline Tensor plus(Tensor a, Tensor b) { return binary(a, b, Binary::Add); }
inline Tensor minus(Tensor a, Tensor b) { return binary(a, b, Binary::Subtract); }
inline Tensor times(Tensor a, Tensor b) { return binary(a, b, Binary::Multiply); }
inline Tensor over(Tensor a, Tensor b) { return binary(a, b, Binary::Divide); }
/// part / whole; 0 where both are 0 because nothing is visible.
inline Tensor share(Tensor part, Tensor whole) { return over(part, affine(whole, 1, 1e-30)); }
inline Tensor beside(Tensor a, Tensor b) { return concatenate(std::array{a, b}, -1); }
inline Tensor sumOver(Tensor x, int axis) { return reduce(x, Reduction::Sum, {axis}); }

/// [..., M, K] . [..., N, K]^T
inline Tensor product(Tensor a, Tensor b) { return batchedMatmul(a, b, {.transposeB = true}); }

/// x / |x| over the last axis.
inline Tensor unitRows(Tensor x) {
    return times(x, unary(affine(sumOver(unary(x, Unary::Square), -1), 1, 1e-12), Unary::ReciprocalSquareRoot));
}

/// A list as indices. @param x of any shape  @return I32 [elements of x]
inline Tensor indices(Tensor x) { return toInteger(reshape(x, {x.shape().elements()})); }

/// w . x for every token and head. @param weights the name of w: [H,C], or [H,1,D] without rows
/// @param rows [B,T,C] that queries or keys are made of; null where they are unknown, and `others` stand for them
/// @param others [B,H,T,D]  @return [B,H,T]
inline Tensor numberByHead(AttentionFlow& flow, const std::string& weights, Tensor rows, Tensor others) {
    const int64_t B = flow.batch, H = flow.heads, T = others.shape()[2];
    const int64_t width = rows ? rows.shape()[-1] : flow.width;
    const InitialValue initial{InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(width))};
    if (!rows) return reshape(product(others, flow.parameter(weights, {H, 1, width}, initial)), {B, H, T});
    const Tensor byRow = matmul(reshape(rows, {B * T, width}), flow.parameter(weights, {H, width}, initial));
    return permute(reshape(byRow, {B, T, H}), {0, 2, 1});
}

} // namespace attn::terms
