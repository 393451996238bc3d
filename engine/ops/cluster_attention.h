#pragma once

#include "engine/graph/graph.h"

namespace attn {

/// Where queries and keys lie on the sphere of rows with mean 0 and length 1: u(x) = (x - mean) * inverse length.
/// @param q, k [B,H,T,D]  @return [B,H,4,T]: the mean of each query, 1 / the length of the query less its mean, and the
/// same of each key; without a gradient
Tensor sphereOf(Tensor q, Tensor k);

/// The columns of the `count` largest x factor of each row, in ascending order of the columns. If some are equal, the
/// first columns. Costs much less than a sort. No gradient.
/// @param x [N...,R,C]  @param factor [N...,C], for all rows with the same index before  @return I32 [N...,R,count]
Tensor largestColumns(Tensor x, Tensor factor, int64_t count);

/// Tokens in clusters, which may overlap.
struct ClusterAttentionInputs {
    Tensor q, k, v;          ///< [B,H,T,D]
    Tensor sphere;           ///< sphereOf(q, k)
    Tensor queryIds, keyIds; ///< I32 [B,H,c,w]: the members of each cluster, ascending and each once
};

/// The mean over the clusters c that hold query t of softmax over the keys s of c of scale u(q_t) . u(k_s), times v. A
/// query that no cluster holds gets its own v. The gradients of q and k are those through u. No pattern is stored,
/// forward or backward.
/// @param isCausal whether a query sees no later key; queryIds and keyIds must then be the same  @return z [B,H,T,D]
/// @source Roy et al. 2021, "Efficient Content-Based Sparse Attention with Routing Transformers", arXiv:2003.05997,
/// section 4.1 and algorithm 1
Tensor clusterAttention(const ClusterAttentionInputs& inputs, double scale, bool isCausal);

} // namespace attn
