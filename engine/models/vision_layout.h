#pragma once

#include "engine/models/vision_config.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace attn {

/// The tokens of a grid, window by window and row by row in each. The windows of a shifted layer begin further down and
/// to the right; what remains at the upper and left edge fills the last ones up, and what belongs to different edges
/// there does not see each other. A grid that windows do not divide is filled up with zeros, which are seen.
struct WindowLayout {
    int64_t windows = 1;
    int64_t side = 1;             ///< tokens on a side of a window
    std::vector<int32_t> order;   ///< [windows side side]: token of the grid at each place; -1: none
    std::vector<int32_t> places;  ///< [tokens]: where each stands in the order
    std::vector<int32_t> regions; ///< [windows side side]: places of one window see each other where these agree

    int64_t length() const { return side * side; }
    bool hidesAny() const; ///< whether some window has two regions
};

/// @source Liu et al. 2021, arXiv:2103.14030, section 3.2, "Efficient batch computation for shifted configuration"
WindowLayout windowLayout(const ImageSize& grid, GridWindows windows);

/// How the tokens of one layer stand to the patches of the picture.
struct LayerLayout {
    int64_t prefix = 0;                  ///< tokens that are made of no patch, the first ones
    int64_t tokens = 0;                  ///< T, prefix included
    std::vector<int32_t> tokenOf;        ///< [patches of the picture]: the token that each is part of
    std::optional<WindowLayout> windows; ///< of the tokens behind the prefix

    /// Numbers of one head's pattern: [T,T], or [windows, places, places].
    int64_t cells() const {
        return windows ? windows->windows * windows->length() * windows->length() : tokens * tokens;
    }
    /// Calls `row(query, first, keys)` for each token: its cells begin at `first` and belong to the tokens `keys`, -1
    /// where there is none.
    template <class Row> void forRows(Row&& row) const;
    /// Where each token lies: the mean place of its patches, in patches. @param columns of the picture
    std::vector<std::array<float, 2>> centres(int64_t columns) const;
};

template <class Row> void LayerLayout::forRows(Row&& row) const {
    if (!windows) {
        std::vector<int32_t> all(static_cast<size_t>(tokens));
        std::iota(all.begin(), all.end(), 0);
        for (int64_t token = 0; token < tokens; ++token) row(token, token * tokens, std::span<const int32_t>(all));
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

/// Of each layer, as far as the picture does not decide: tokens that are pooled are those of before.
std::vector<LayerLayout> layerLayouts(const VisionConfig& config);

/// The same with tokens pooled. @param pooledInto [tokens behind the prefix]: token of the pool, from 0
LayerLayout pooledLayout(const LayerLayout& before, const std::vector<int32_t>& pooledInto, int64_t tokens);

} // namespace attn
