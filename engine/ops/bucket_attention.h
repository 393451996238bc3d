#pragma once

#include "engine/graph/graph.h"

namespace attn {

/// Tokens in buckets. In every round they lie sorted, cut into chunks, and a query meets the keys of its bucket that
/// lie in its own chunk or the one before.
struct BucketAttentionInputs {
    Tensor q, k, v; ///< [B,H,T,D]
    Tensor order;   ///< I32 [B,H,R,T]: the token at each place of each round
    /// I32 [B,H,R,T]: a number for each token that never falls along the places. A query meets a key if its number is
    /// the key's or one more; this must not happen outside its own chunk and the one before.
    Tensor code;
    int64_t chunk = 8; ///< in places, a multiple of 8
};

/// Attention of each query to all keys that it meets in some round, each of them counted once. A query's own key counts
/// with its score less 256, so that it matters only where there is no other. No pattern is stored, forward or backward.
/// @param isCausal whether a query meets no later token  @return z [B,H,T,D]
/// @source Kitaev et al. 2020, "Reformer", arXiv:2001.04451, section 2 and appendix A; the softmax over the rounds'
/// sums, with a pair's weight divided by the number of rounds in which it meets, is a softmax over the union
Tensor bucketAttention(const BucketAttentionInputs& inputs, double scale, bool isCausal);

/// Taken from the score of a query for its own key, which then counts only where there is no other: e^-256 is 0. The
/// Reformer's code takes 1e5, at which float32 rounds 400 times as coarsely.
inline constexpr double kOwnPenalty = 256;

} // namespace attn
