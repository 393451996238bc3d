#pragma once

#include "engine/attention/flow.h"

#include <cstdint>
#include <vector>

namespace attn {

/// The cells of a pattern to draw and the number of pixels: a pixel shows the largest of the cells that it covers.
/// Ranges are half open.
struct PatternWindow {
    int64_t queryBegin = 0, queryEnd = 0, keyBegin = 0, keyEnd = 0;
    int64_t rows = 0, columns = 0; ///< pixels, at most one per cell
    bool operator==(const PatternWindow&) const = default;
};

/// Clips a window to the pattern. An empty range becomes the whole range; no pixels, or more pixels than cells, become
/// one pixel per cell.
/// @param mostPixels limit of `rows` and of `columns`
PatternWindow boundedWindow(PatternWindow window, int64_t queries, int64_t keys, int64_t mostPixels);

/// The first position in [begin, end) that a pixel covers. @param pixel from 0; `pixels` gives `end`
int64_t firstOfPixel(int64_t pixel, int64_t pixels, int64_t begin, int64_t end);

/// The positions under each pixel, as patternWindow needs them in `rows` or `columns`: the same number for every pixel.
std::vector<int32_t> positionsUnder(int64_t begin, int64_t end, int64_t pixels);

/// Computes part of a pattern that is a product. Apart from the factors, memory grows with the window and not with the
/// pattern.
/// @param rows, columns I32, positionsUnder() of the window's queries and keys
/// @param window clipped by boundedWindow()
/// @return [B,H,rows,columns]
Tensor patternWindow(const PatternFactors& factors, Tensor rows, Tensor columns, const PatternWindow& window);

} // namespace attn
