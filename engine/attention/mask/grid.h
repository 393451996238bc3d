#pragma once

#include "engine/attention/block_order.h"
#include "engine/attention/mask/term_params.h"
#include "engine/core/bit_row.h"
#include "engine/core/param_values.h"

#include <algorithm>

namespace attn {

inline constexpr Param kRowsParam = wholeNumber("rows", "Rows", "Rows of patches in the picture", 1, 4);
inline constexpr Param kColumnsParam = wholeNumber("cols", "Columns", "Columns of patches in the picture", 1, 4);

/// A parameter of parts that know a picture's grid. A vision model sets it to the number of its tokens before the
/// patches.
inline constexpr std::string_view kLeading = "leading";
inline constexpr Param kLeadingParam{kLeading,
                                     "Leading tokens",
                                     "Tokens before the first patch, such as CLS, which lie nowhere on the grid",
                                     Param::Kind::Integer,
                                     0,
                                     1024,
                                     1,
                                     0};

/// Parameters of positions that know a picture's grid: the size of the blocks in which the picture is written.
inline constexpr std::string_view kBlockHeight = "block_height", kBlockWidth = "block_width";
inline constexpr Param kBlockHeightParam =
    wholeNumber(kBlockHeight, "Block height",
                "Rows of the blocks that the text writes one after the other; 1: row by row", 1, 1, 1024);
inline constexpr Param kBlockWidthParam = wholeNumber(
    kBlockWidth, "Block width", "Tokens in a row of the blocks that the text writes one after the other", 1, 1, 1024);

/// A parameter of masks with blocks: whether the picture is written in these blocks.
inline constexpr std::string_view kByBlock = "by_block";

/// A picture whose patches form a sequence, row by row or block by block, after the leading tokens. Leading tokens see
/// all tokens and are seen by all. Tokens after the last patch see nothing else, and no other token sees them.
struct Grid {
    int64_t rows, columns;
    int64_t leading = 0;
    int64_t blockRows = 1, blockColumns = 1; ///< blocks of one row: row by row

    /// @param values of a part with the parameters rows, cols and leading
    static Grid of(ParamValues values) {
        return {values.integer("rows"), values.integer("cols"), values.integer(kLeading)};
    }
    int64_t end() const { return leading + rows * columns; } ///< the token after the last patch
    /// Whether the token is a patch of the picture.
    bool holds(int64_t token) const { return token >= leading && token < end(); }
    BlockOrder order() const { return {rows, columns, blockRows, blockColumns}; }
    int64_t rowOf(int64_t token) const { return order().placeOf(token - leading).row; }
    int64_t columnOf(int64_t token) const { return order().placeOf(token - leading).column; }
    /// Sets what a leading token sees, or the leading tokens, which every other one sees.
    void seeLeading(int64_t query, BitRow& keys) const { keys.setRange(0, query < leading ? keys.size() : leading); }

    /// Rows [top, bottom) and columns [left, right); may reach beyond the picture.
    struct Rectangle {
        int64_t top, bottom, left, right;
    };
    /// Sets the patches of a rectangle that lie in the picture.
    void see(const Rectangle& part, BitRow& keys) const {
        const int64_t left = std::max<int64_t>(part.left, 0), right = std::min(part.right, columns);
        const BlockOrder blocks = order();
        const auto keyAt = [&](int64_t row, int64_t column) { return leading + blocks.nthOf({row, column}); };
        // Tokens to the right and below come later, so that what lies beyond the keys ends both loops.
        for (int64_t row = std::max<int64_t>(part.top, 0); row < std::min(part.bottom, rows); ++row) {
            if (left >= right || keyAt(row, left) >= keys.size()) return;
            for (int64_t column = left, next = 0; column < right && keyAt(row, column) < keys.size(); column = next) {
                next = std::min(blocks.runEnd(column), right);
                keys.setRange(keyAt(row, column), keyAt(row, column) + next - column);
            }
        }
    }
};

} // namespace attn
