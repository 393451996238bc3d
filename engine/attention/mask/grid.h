#pragma once

#include "engine/attention/mask/bit_row.h"
#include "engine/attention/mask/term_params.h"

#include <algorithm>

namespace attn {

inline constexpr Param kRowsParam = wholeNumber("rows", "Rows", "Rows of the image", 1, 4);
inline constexpr Param kColumnsParam = wholeNumber("cols", "Columns", "Columns of the image", 1, 4);

/// An image whose cells stand in a sequence row by row. Tokens behind its last cell see nothing and are seen by none.
struct Grid {
    int64_t rows, columns;

    bool holds(int64_t token) const { return token < rows * columns; }
    int64_t rowOf(int64_t token) const { return token / columns; }
    int64_t columnOf(int64_t token) const { return token % columns; }

    /// The cells of a rectangle, half open, as far as it lies on the grid.
    struct Rectangle {
        int64_t top, bottom, left, right;
    };
    void see(const Rectangle& part, BitRow& keys) const {
        const int64_t left = std::max<int64_t>(part.left, 0), right = std::min(part.right, columns);
        const int64_t bottom = std::min({part.bottom, rows, rowOf(keys.size() - 1) + 1});
        for (int64_t row = std::max<int64_t>(part.top, 0); row < bottom; ++row)
            keys.setRange(row * columns + left, row * columns + right);
    }
};

} // namespace attn
