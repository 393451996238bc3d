#pragma once

#include "engine/attention/mask/term_params.h"
#include "engine/core/bit_row.h"

#include <algorithm>

namespace attn {

inline constexpr Param kRowsParam = wholeNumber("rows", "Rows", "Rows of patches in the picture", 1, 4);
inline constexpr Param kColumnsParam = wholeNumber("cols", "Columns", "Columns of patches in the picture", 1, 4);

/// A picture whose patches form a sequence, row by row. Tokens after the last patch see nothing, and no token sees
/// them.
struct Grid {
    int64_t rows, columns;

    /// Whether the token is a patch of the picture.
    bool holds(int64_t token) const { return token < rows * columns; }
    int64_t rowOf(int64_t token) const { return token / columns; }
    int64_t columnOf(int64_t token) const { return token % columns; }

    /// Rows [top, bottom) and columns [left, right); may reach beyond the picture.
    struct Rectangle {
        int64_t top, bottom, left, right;
    };
    /// Sets the patches of a rectangle that lie in the picture.
    void see(const Rectangle& part, BitRow& keys) const {
        const int64_t left = std::max<int64_t>(part.left, 0), right = std::min(part.right, columns);
        const int64_t bottom = std::min({part.bottom, rows, rowOf(keys.size() - 1) + 1});
        for (int64_t row = std::max<int64_t>(part.top, 0); row < bottom; ++row)
            keys.setRange(row * columns + left, row * columns + right);
    }
};

} // namespace attn
