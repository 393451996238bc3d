#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace attn {

/// The order of the places of a grid whose blocks follow one another, row by row, and whose places do so within a
/// block. Blocks at the right and lower borders are cut off there. With blocks of one row this is row by row.
/// @source Parmar et al. 2018, "Image Transformer", arXiv:1802.05751, section 3.3: two-dimensional local attention
struct BlockOrder {
    int64_t rows = std::numeric_limits<int64_t>::max(); ///< of the grid
    int64_t columns = 1;
    int64_t blockRows = 1, blockColumns = 1; ///< size of a block

    struct Place {
        int64_t row, column;
        bool operator==(const Place&) const = default;
    };

    bool isRowByRow() const { return blockRows == 1; }

    /// @param nth from 0; beyond rows * columns the place is meaningless
    Place placeOf(int64_t nth) const {
        if (isRowByRow()) return {nth / columns, nth % columns};
        const int64_t above = nth / (blockRows * columns) * blockRows;
        const int64_t height = std::clamp<int64_t>(rows - above, 1, blockRows);
        const int64_t inBand = nth - above * columns;
        const int64_t left = inBand / (height * blockColumns) * blockColumns;
        const int64_t width = std::clamp<int64_t>(columns - left, 1, blockColumns);
        const int64_t inBlock = inBand - height * left;
        return {above + inBlock / width, left + inBlock % width};
    }

    /// The inverse of placeOf().
    int64_t nthOf(const Place& place) const {
        if (isRowByRow()) return place.row * columns + place.column;
        const int64_t above = place.row / blockRows * blockRows, left = place.column / blockColumns * blockColumns;
        const int64_t height = std::min(blockRows, rows - above), width = std::min(blockColumns, columns - left);
        return above * columns + height * left + (place.row - above) * width + place.column - left;
    }

    /// The places that lie beside one another in a row and follow one another in the order, up to the end of a block.
    /// @return the column after the last of them
    int64_t runEnd(int64_t column) const {
        return isRowByRow() ? columns : std::min(columns, (column / blockColumns + 1) * blockColumns);
    }
};

} // namespace attn
