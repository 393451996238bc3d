#pragma once

#include "engine/graph/graph.h"

#include <cstdint>

namespace attn {

/// The weights of the keys in channelMean(). The number of a cell comes from a table, or is a product of factors.
struct ChannelMeanInputs {
    Tensor k, v;    ///< [B,H,S,D]
    Tensor q{};     ///< [B,H,T,D]; z is multiplied with its logistic function; null for none
    Tensor table{}; ///< [1|H, 1|T, S], or [1|H, 1|T, 2 window - 1] by key minus query from -(window - 1) on; or null
    Tensor queryFactors{}, keyFactors{}; ///< [T,F] and [S,F], whose products are the numbers; without a table
    int64_t window = 0;                  ///< cells this far apart or farther have the number 0; 0: none have
    int64_t behind = 0, ahead = 0;       ///< the largest distances at which keys before and after a query are visible
    int64_t gradientRows = 128;          ///< queries whose cells the gradient forms at a time
};

/// For each channel the mean of the values, each weighed by e^(k + w) with w the number of the cell:
/// z[t,d] = sum_s e^(k[s,d] + w[t,s]) v[s,d] / sum_s e^(k[s,d] + w[t,s]). It is computed block by block, so that memory
/// grows with the tokens, and outside of the window no cell is computed. The gradient forms the cells of some queries
/// at a time.
/// @return [B,H,T,D]; 0 where nothing is visible
/// @source Zhai et al. 2021, "An Attention Free Transformer", arXiv:2105.14103, section 3
Tensor channelMean(const ChannelMeanInputs& inputs, int64_t queries);

} // namespace attn
