#pragma once

#include "engine/host/pool.h"

#include <cstdint>

namespace attn::host {

/// Softmax attention over listed tiles of 8 queries by 32 keys, with padded rows of `stride` floats: q [B,H,T,D], k and
/// v [B,G,S,D]. The lists are those of attn::TileLists.
struct TileAttention {
    int64_t B = 0, H = 0, G = 0, T = 0, S = 0, D = 0, stride = 0;
    float scale = 1;
    const float *q = nullptr, *k = nullptr, *v = nullptr;
    const float *begins = nullptr, *tiles = nullptr, *bits = nullptr;
    int64_t beginsStride = 0;    ///< from the list of a head to the next; 0 if all have the same
    const float* bias = nullptr; ///< [H, T+S-1] by key minus query, from -(T-1) on; null for none
    int64_t biasStride = 0;
    const float *labels = nullptr, *labelVectors = nullptr; ///< those of the cells, and [H,labelCount,D] added to keys
    int64_t labelCount = 0;
    const float* firstRows = nullptr; ///< [B,H,firsts,D]: rows of z that were computed elsewhere
    int64_t firsts = 0;
};

/// z [B,H,T,D]; statistics [B,H,T,4] as those of attention().
/// @source Dao et al. 2022, "FlashAttention", arXiv:2205.14135, section 3.3, block-sparse
void tileAttention(const TileAttention& of, float* z, float* statistics, Pool& pool);

/// Further operands of the gradients.
struct TileGradient {
    const float *z = nullptr, *statistics = nullptr, *dz = nullptr;
    float *dq = nullptr, *dk = nullptr, *dv = nullptr;
    float* products = nullptr;      ///< the statistics, with z . dz as third number
    float* labelProducts = nullptr; ///< [B,H,T,labelCount]: what each q . vector gets; null without labels
    int64_t labelStride = 0;
};
void tileAttentionGradient(const TileAttention& of, const TileGradient& gradient, Pool& pool);

/// The gradient of the bias. @param products [B,H,T,4] from tileAttentionGradient()
void tileBiasGradient(const TileAttention& of, const float* products, const float* dz, float* dBias, Pool& pool);

} // namespace attn::host
