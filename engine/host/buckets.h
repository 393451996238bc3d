#pragma once

#include "engine/host/pool.h"

#include <cstdint>

namespace attn::host {

/// Attention within buckets: q, k and v [M,T,D] in rows of `stride` floats, order and code [M,R,T] in rows of
/// `orderStride`, as in attn::BucketAttentionInputs.
struct BucketAttention {
    int64_t M = 0, T = 0, D = 0, R = 0, stride = 0, orderStride = 0;
    int64_t chunk = 8;
    float scale = 1, ownPenalty = 0; ///< the latter of a query's own key
    bool isCausal = false;
    const float *q = nullptr, *k = nullptr, *v = nullptr;
    const int32_t *order = nullptr, *code = nullptr;
};

/// z [M,T,D]; statistics [M,T,4]: from the given column on, the maximum of a row's scores in powers of two and 1 / the
/// sum of their exponentials.
/// @source Kitaev et al. 2020, "Reformer", arXiv:2001.04451, section 2
void bucketAttention(const BucketAttention& of, float* z, float* statistics, int64_t column, Pool& pool);

struct BucketGradient {
    const float* statistics = nullptr; ///< at the column of the maximum
    const float* products = nullptr;   ///< z . dz [M,T,1]
    const float* dz = nullptr;
    float *dq = nullptr, *dk = nullptr, *dv = nullptr;
};
void bucketAttentionGradient(const BucketAttention& of, const BucketGradient& gradient, Pool& pool);

} // namespace attn::host
