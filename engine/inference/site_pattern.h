#pragma once

#include "engine/models/vision_layout.h"

#include <span>
#include <vector>

namespace attn {

/// The patterns of the heads of one layer on a picture, and the layout of its tokens.
struct SitePattern {
    LayerLayout layout;
    int heads = 0;
    std::vector<float> values; ///< [heads,T,T]; with windows [windows, heads, places, places]

    /// The index in `values` of a head's cell. @param cell index in the order of LayerLayout::forRows()
    size_t at(int head, int64_t cell) const;
    /// @throws Error if the size of `values` does not fit the layout
    void requireWhole() const;
};

/// How much of each token of a first layer is in each token of a last layer.
struct TokenMap {
    LayerLayout rows, columns;
    std::vector<float> values; ///< [tokens of rows, tokens of columns]
};

} // namespace attn
