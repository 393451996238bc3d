#pragma once

#include "engine/graph/graph.h"

namespace attn {

/// The inputs of selectiveScan(), for W channels with states of N numbers each.
struct SelectiveScanInputs {
    Tensor x;         ///< [B,T,W]
    Tensor step;      ///< [B,T,W]: how long a row lasts for a channel, above 0
    Tensor decay;     ///< [W,N]: below 0, so that states fade
    Tensor in, out;   ///< [B,T,N]: how a row enters the states, and how they are read
    Tensor state;     ///< [B,N,W]: the states before the first row
    Tensor skip{};    ///< [W]: what of x is added to y; null for none
    Tensor lengths{}; ///< I32 [B]: how many rows of each sequence count; null: all
};
struct SelectivelyScanned {
    Tensor y;     ///< [B,T,W]; zeros in rows that do not count
    Tensor state; ///< [B,N,W], after the last row that counts
};
/// A state space whose step, input and output depend on the row:
/// h[n,w] becomes exp(step[w] decay[w,n]) h[n,w] + step[w] in[n] x[w]; y[w] = the sum over n of out[n] h[n,w], plus
/// skip[w] x[w]. States are kept only before every 32nd row; the way back computes those between again. All inputs but
/// the lengths have gradients.
/// @throws Error if the shapes do not fit
/// @source Gu and Dao 2023, "Mamba", arXiv:2312.00752, algorithm 2 and section 3.3.2
SelectivelyScanned selectiveScan(const SelectiveScanInputs& inputs);

} // namespace attn
