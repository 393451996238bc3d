#pragma once

#include "engine/models/vision_layout.h"

#include <span>
#include <vector>

namespace attn {

/// What the heads of one layer make of a picture, and how its tokens stand to the patches.
struct LayerPattern {
    LayerLayout layout;
    int heads = 0;
    std::vector<float> values; ///< [heads,T,T]; of windows [windows, heads, places, places]

    /// A head's cells as LayerLayout::forRows() counts them. @return position in `values`
    size_t at(int head, int64_t cell) const;
    /// @throws Error if there are not as many numbers as the layout says
    void requireWhole() const;
};

/// How much of each token of a first layer is in each of a last one.
struct TokenMap {
    LayerLayout rows, columns;
    std::vector<float> values; ///< [T of the rows, T of the columns]
};

} // namespace attn
