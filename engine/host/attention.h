#pragma once

#include "engine/host/pool.h"

#include <cstdint>

namespace attn::host {

/// Softmax attention under a rule. The rows of queries are [T,H,D], those of keys and values [S,G,D]; each row of D
/// features is padded with zeros to `stride` floats.
struct Attention {
    int64_t T = 0, S = 0; ///< that exist in this step
    int64_t capacity = 0; ///< queries for each head in the statistics
    int64_t H = 0, G = 0, D = 0, stride = 0;
    float scale = 1;
    bool causal = false;  ///< a query sees no key of a later position
    int64_t window = 0;   ///< of positions that a query sees, itself included; 0: no limit
    int64_t sequence = 0; ///< rows of a sequence, which sees only itself; 0: all rows are one
    const float *q = nullptr, *k = nullptr, *v = nullptr;
    const int32_t *queryPosition = nullptr, *keyPosition = nullptr;
    const float* gates = nullptr; ///< [H]
    const float* bias = nullptr;  ///< [H] rows of biasColumns distances, the middle one being 0; null for none
    int64_t biasColumns = 0, biasStride = 0;
    const float* slopes = nullptr; ///< [H], of ALiBi, which views of a pattern take into account; null for none
    int64_t firstSeen = 0;         ///< keys before this one are hidden from views
};

/// z [T,H,D]; statistics [H,capacity,4]: the maximum of a row's scores in powers of two, 1 / the sum of their
/// exponentials, and two zeros. Cells that the rule excludes are skipped block by block.
/// @source Rabe and Staats 2021, arXiv:2112.05682; Dao et al. 2022, "FlashAttention", arXiv:2205.14135
void attention(const Attention& of, float* z, float* statistics, Pool& pool);

/// Further operands of the gradient. A bias has none.
struct AttentionGradient {
    const float *z = nullptr, *statistics = nullptr, *dz = nullptr;
    float *dq = nullptr, *dk = nullptr, *dv = nullptr;
    float* products = nullptr; ///< the statistics, with z . dz as third number
};
void attentionGradient(const Attention& of, const AttentionGradient& gradient, Pool& pool);

} // namespace attn::host
