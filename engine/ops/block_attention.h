#pragma once

#include "engine/graph/graph.h"

namespace attn {

/// A mask as lists of tiles of 8 queries by 32 keys, as constants of a graph. Numbers are whole and exact in a float.
struct TileLists {
    Tensor begins, tiles; ///< [M, ceil(T/8) + 1] and [2 N]: of each tile its block of keys and its row of `bits`
    Tensor columnBegins,
        columnTiles; ///< [M, ceil(S/32) + 1] and [2 N]: the same tiles by keys, each with its block of queries
    Tensor bits;     ///< [P, 16]: 16 keys in a number, the first 16 of queries 0 to 7, then the last 16; row 0 shows
                     ///< everything
};

struct BlockAttentionInputs {
    Tensor q;        ///< [B,H,T,D]
    Tensor k, v;     ///< [B,G,S,D]
    TileLists lists; ///< M is 1, or H where heads have masks of their own
    Tensor bias;     ///< [H, T+S-1] by distance of key from query, from -(T-1) on; null for none. kMasked hides cells
};

/// Fused attention that goes through the listed tiles alone, forward and backward, and never stores a pattern.
/// A row that sees nothing gives zeros. @return z [B,H,T,D]
/// @source Dao et al. 2022, "FlashAttention", arXiv:2205.14135, section 3.3, block-sparse
Tensor blockAttention(const BlockAttentionInputs& inputs, double scale);

} // namespace attn
