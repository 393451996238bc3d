#pragma once

#include "engine/attention/mask/expression.h"

#include <array>
#include <cstdint>
#include <vector>

namespace attn {

/// A mask cut into blocks of 8 queries by 32 keys: what a block-sparse kernel goes through. Empty blocks are left out,
/// blocks where every cell that exists is seen need no bits, and blocks that look alike share theirs.
struct MaskBlocks {
    static constexpr int64_t kQueries = 8, kKeys = 32;

    /// One block of a list.
    struct Block {
        int32_t at;   ///< which block of keys; in the lists by keys, which block of queries
        int32_t bits; ///< which 8 words of `bits`; -1 where all cells that exist are seen
        bool operator==(const Block&) const = default;
    };

    int64_t queries = 0, keys = 0; ///< T, S

    std::vector<int32_t> rowBegin; ///< [ceil(T/8) + 1]: where each block of queries begins in `blocks`
    std::vector<Block> blocks;     ///< by rising keys
    std::vector<uint32_t> bits;    ///< 8 words a block: bit b of word r is key b of the block for its query r

    std::vector<int32_t> columnBegin; ///< [ceil(S/32) + 1]: where each block of keys begins in `columnBlocks`
    std::vector<Block> columnBlocks;  ///< the same blocks by keys, by rising queries: for the backward pass

    std::vector<int32_t> seenPerRow;          ///< [T]
    int64_t seen = 0;                         ///< cells
    int64_t full = 0, partial = 0, empty = 0; ///< blocks
};

/// Streams the mask's rows: takes memory for eight of them and for the lists.
/// @throws Error like MaskExpression::row
MaskBlocks maskBlocks(const MaskExpression& mask, const MaskSize& size);

} // namespace attn
