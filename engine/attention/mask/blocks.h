#pragma once

#include "engine/attention/mask/expression.h"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace attn {

/// A mask cut into blocks of 8 queries by 32 keys, for a block-sparse kernel. Empty blocks are left out, blocks whose
/// existing cells are all visible need no bits, and equal blocks share their bits.
struct MaskBlocks {
    static constexpr int64_t kQueries = 8, kKeys = 32;

    /// One block of a list.
    struct Block {
        int32_t at;   ///< the block of keys; in lists by keys, the block of queries
        int32_t bits; ///< the index of its 8 words in `bits`; -1 if all existing cells are visible
        bool operator==(const Block&) const = default;
    };

    int64_t queries = 0, keys = 0; ///< T, S

    std::vector<int32_t> rowBegin; ///< [ceil(T/8) + 1]: where each block of queries begins in `blocks`
    std::vector<Block> blocks;     ///< by ascending keys
    std::vector<uint32_t> bits;    ///< 8 words a block: bit b of word r is key b of the block for its query r
    std::vector<uint16_t> labels;  ///< 256 of each of the same blocks, by queries; empty without labels

    std::vector<int32_t> columnBegin; ///< [ceil(S/32) + 1]: where each block of keys begins in `columnBlocks`
    std::vector<Block> columnBlocks;  ///< the same blocks, by keys and ascending queries: for the backward pass

    std::vector<int32_t> seenPerRow;          ///< [T]
    int64_t seen = 0;                         ///< visible cells
    int64_t full = 0, partial = 0, empty = 0; ///< numbers of blocks
};

/// Queries [begin, end).
struct QueryRange {
    int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

/// Cuts a mask into blocks, eight rows at a time: memory is needed for these rows and the lists.
/// @param seeing the queries that see what the mask shows: those before see nothing, and those after are left out
/// @throws Error like MaskExpression::row
MaskBlocks maskBlocks(const MaskExpression& mask, const MaskSize& size, QueryRange seeing = {});

/// Labels the visible cells: blocks that share their bits then also have the same labels, and all have bits.
/// @param label of a query and a key, below 65536
void addLabels(MaskBlocks& blocks, const std::function<int64_t(int64_t, int64_t)>& label);

} // namespace attn
