#pragma once

#include "engine/host/pool.h"

#include <cstdint>

namespace attn::host {

/// Attention within clusters that may overlap: q, k and v [M,T,D] in rows of `stride` floats, the members of each
/// cluster [M,count,members] in rows of `idStride`, and the sphere [M,4,T] in rows of `tokenStride`, as in
/// attn::ClusterAttentionInputs.
struct ClusterAttention {
    int64_t M = 0, T = 0, D = 0, count = 0, members = 0, stride = 0, idStride = 0, tokenStride = 0;
    float scale = 1;
    bool isCausal = false;
    const float *q = nullptr, *k = nullptr, *v = nullptr, *sphere = nullptr;
    const int32_t *queryIds = nullptr, *keyIds = nullptr;
};

/// z [M,T,D]; statistics [M,count,2,members]: the maximum of a row's scores in powers of two, and 1 / the sum of their
/// exponentials; counts [M,T]: how many clusters hold a query.
/// @source Roy et al. 2021, arXiv:2003.05997, section 4.1
void clusterAttention(const ClusterAttention& of, float* z, float* statistics, float* counts, Pool& pool);

struct ClusterGradient {
    const float *statistics = nullptr, *counts = nullptr, *dz = nullptr;
    float *dq = nullptr, *dk = nullptr, *dv = nullptr;
    float* products = nullptr; ///< [M,count,members] sums of p dp
};
void clusterAttentionGradient(const ClusterAttention& of, const ClusterGradient& gradient, Pool& pool);

/// The columns of the `count` largest x * factor of a row, ascending. If some are equal, the first ones.
void largestColumns(int64_t columns, int64_t count, const float* x, const float* factor, int32_t* out);

} // namespace attn::host
