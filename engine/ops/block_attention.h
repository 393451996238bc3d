#pragma once

#include "engine/graph/graph.h"

namespace attn {

/// A mask as lists of tiles of 8 queries by 32 keys, in constants of a graph. All numbers are whole and exact in a
/// float.
struct TileLists {
    /// [M, ceil(T/8) + 1] and [2 N]: for each tile, its block of keys and its row of `bits`.
    Tensor begins, tiles;
    /// [M, ceil(S/32) + 1] and [2 N]: the same tiles by keys, each with its block of queries.
    Tensor columnBegins, columnTiles;
    /// [P, 16]: 16 keys in a number, first keys 0 to 15 of queries 0 to 7, then keys 16 to 31. Row 0 shows everything.
    Tensor bits;
    /// [P, 256]: of the same tiles the labels of their cells, query by query. Null: cells have no labels.
    Tensor labels{};
};

struct BlockAttentionInputs {
    Tensor q;              ///< [B,H,T,D]
    Tensor k, v;           ///< [B,G,S,D]
    TileLists lists;       ///< M is 1, or H if every head has its own mask
    Tensor bias;           ///< [H, T+S-1] by key minus query, from -(T-1) on; null for none. kMasked hides cells
    Tensor labelVectors{}; ///< [H,L,D]: the one of the cell's label is added to the key; with lists.labels
    Tensor first{};        ///< [B,H,N,D]: the first rows of z, computed elsewhere. The lists show these queries nothing
};

/// Fused attention that computes only the listed tiles, forward and backward, and never stores a pattern.
/// A row that sees nothing gives zeros. What vectors by label add is never stored by cell either.
/// @return z [B,H,T,D]
/// @source Dao et al. 2022, "FlashAttention", arXiv:2205.14135, section 3.3, block-sparse
Tensor blockAttention(const BlockAttentionInputs& inputs, double scale);

} // namespace attn
