#pragma once

#include "engine/models/model_spec.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace attn {

/// The order of the tokens of a grid by windows, row by row in each window. The windows of a shifted layer start
/// further down and right. Their last row and column are completed with tokens from the upper and left edge, which form
/// regions of their own: tokens of different regions do not see each other. A grid that is not a multiple of the window
/// is padded with zero tokens, which are visible.
struct WindowLayout {
    int64_t windows = 1;
    int64_t side = 1;            ///< tokens per side of a window
    std::vector<int32_t> order;  ///< [windows * side * side] token of the grid at each place; -1: padding
    std::vector<int32_t> places; ///< [tokens] index of each token in `order`
    std::vector<int32_t>
        regions; ///< [windows * side * side]; places of a window see each other if their regions are equal

    int64_t length() const { return side * side; }
    bool hidesAny() const; ///< whether a window has two regions
};

/// @source Liu et al. 2021, arXiv:2103.14030, section 3.2, "Efficient batch computation for shifted configuration"
WindowLayout windowLayout(const ImageSize& grid, GridWindows windows);

/// The relation between the tokens of a layer and the patches of the picture.
struct LayerLayout {
    int64_t prefix = 0;                  ///< leading tokens that are not patches
    int64_t tokens = 0;                  ///< T, including the prefix
    int64_t keys = 0;                    ///< S, where keys are rows of another stream; 0: the tokens
    std::vector<int32_t> tokenOf;        ///< [patches of the picture] the token that contains each patch
    std::optional<WindowLayout> windows; ///< windows of the tokens after the prefix

    int64_t keyCount() const { return keys > 0 ? keys : tokens; }
    /// The number of cells of a head's pattern: [T,S], or [windows, places, places].
    int64_t cells() const {
        return windows ? windows->windows * windows->length() * windows->length() : tokens * keyCount();
    }
    /// Calls `row(query, first, keys)` for each token. Its cells start at index `first` and belong to the tokens
    /// `keys`, which are -1 at padding.
    template <class Row> void forRows(Row&& row) const;
    /// The mean place of the patches of each token, in patches. @param columns patches per row of the picture
    std::vector<std::array<float, 2>> centres(int64_t columns) const;
};

template <class Row> void LayerLayout::forRows(Row&& row) const {
    if (!windows) {
        std::vector<int32_t> all(static_cast<size_t>(keyCount()));
        std::iota(all.begin(), all.end(), 0);
        for (int64_t token = 0; token < tokens; ++token) row(token, token * keyCount(), std::span<const int32_t>(all));
        return;
    }
    const int64_t length = windows->length();
    for (int64_t place = 0; place < windows->windows * length; ++place) {
        const int32_t token = windows->order[static_cast<size_t>(place)];
        const auto window = static_cast<size_t>(place / length * length);
        if (token >= 0)
            row(static_cast<int64_t>(token), place * length,
                std::span<const int32_t>(windows->order).subspan(window, static_cast<size_t>(length)));
    }
}

/// The layouts of all layers. Pooled layers have the layout before pooling, because pooling depends on the picture.
std::vector<LayerLayout> layerLayouts(const ModelSpec& config);

/// A layout after pooling. @param pooledInto [tokens after the prefix] cluster of each token, from 0
LayerLayout pooledLayout(const LayerLayout& before, const std::vector<int32_t>& pooledInto, int64_t tokens);

} // namespace attn
