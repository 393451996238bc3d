#pragma once

#include "engine/attention/mask/term_params.h"
#include "engine/core/bit_row.h"
#include "engine/core/param_values.h"

#include <algorithm>

namespace attn {

inline constexpr Param kRowsParam = wholeNumber("rows", "Rows", "Rows of patches in the picture", 1, 4);
inline constexpr Param kColumnsParam = wholeNumber("cols", "Columns", "Columns of patches in the picture", 1, 4);

/// Of parts that know a picture's grid: a vision model sets it to the number of its own tokens before the patches.
inline constexpr std::string_view kLeading = "leading";
inline constexpr Param kLeadingParam{kLeading,
                                     "Leading tokens",
                                     "Tokens before the first patch, such as CLS, which lie nowhere on the grid",
                                     Param::Kind::Integer,
                                     0,
                                     1024,
                                     1,
                                     0};

/// A picture whose patches form a sequence, row by row, after the leading tokens. Leading tokens see all tokens and are
/// seen by all. Tokens after the last patch see nothing else, and no other token sees them.
struct Grid {
    int64_t rows, columns;
    int64_t leading = 0;

    /// @param values of a part with the parameters rows, cols and leading
    static Grid of(ParamValues values) {
        return {values.integer("rows"), values.integer("cols"), values.integer(kLeading)};
    }
    int64_t end() const { return leading + rows * columns; } ///< the token after the last patch
    /// Whether the token is a patch of the picture.
    bool holds(int64_t token) const { return token >= leading && token < end(); }
    int64_t rowOf(int64_t token) const { return (token - leading) / columns; }
    int64_t columnOf(int64_t token) const { return (token - leading) % columns; }
    /// Sets what a leading token sees, or the leading tokens, which every other one sees.
    void seeLeading(int64_t query, BitRow& keys) const { keys.setRange(0, query < leading ? keys.size() : leading); }

    /// Rows [top, bottom) and columns [left, right); may reach beyond the picture.
    struct Rectangle {
        int64_t top, bottom, left, right;
    };
    /// Sets the patches of a rectangle that lie in the picture.
    void see(const Rectangle& part, BitRow& keys) const {
        const int64_t left = std::max<int64_t>(part.left, 0), right = std::min(part.right, columns);
        if (keys.size() <= leading) return;
        const int64_t bottom = std::min({part.bottom, rows, rowOf(keys.size() - 1) + 1});
        for (int64_t row = std::max<int64_t>(part.top, 0); row < bottom; ++row)
            keys.setRange(leading + row * columns + left, leading + row * columns + right);
    }
};

} // namespace attn
