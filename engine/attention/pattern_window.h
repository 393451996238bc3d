#pragma once

#include "engine/attention/flow.h"

#include <cstdint>
#include <vector>

namespace attn {

/// Which cells of a pattern to see and at how many pixels: a pixel is the largest of the cells that it covers.
struct PatternWindow {
    int64_t queryBegin = 0, queryEnd = 0, keyBegin = 0, keyEnd = 0;
    int64_t rows = 0, columns = 0; ///< pixels, at most one per cell
    bool operator==(const PatternWindow&) const = default;
};

/// The window within what exists: an empty range is everything, more pixels than cells or none are one per cell.
/// @param mostPixels across and down
PatternWindow boundedWindow(PatternWindow window, int64_t queries, int64_t keys, int64_t mostPixels);

/// The first of `end - begin` positions that a pixel covers; of pixel = pixels, the end.
int64_t firstOfPixel(int64_t pixel, int64_t pixels, int64_t begin, int64_t end);

/// What `rows` or `columns` of patternWindow must hold: the positions under each pixel, all lists of one length.
std::vector<int32_t> positionsUnder(int64_t begin, int64_t end, int64_t pixels);

/// Part of a pattern that is a product, formed by itself: apart from the factors memory grows with the window and not
/// with the pattern.
/// @param rows, columns I32, positionsUnder the window's queries and keys  @param window bounded
/// @return [B,H,rows,columns]
Tensor patternWindow(const PatternFactors& factors, Tensor rows, Tensor columns, const PatternWindow& window);

} // namespace attn
