#pragma once

#include <optional>
#include <utility>

namespace attn::scope {

struct Cell {
    int query = 0, key = 0;
    bool operator==(const Cell&) const = default;
};

/// Which part of a matrix shows in a rectangle, and how large. Any unit of length; views use ImGui's.
/// Fitted until the reader zooms: the whole matrix shows, in the middle, and more cells shrink it.
class PatternView {
public:
    /// @param largestCell a fitted cell grows no larger, a zoomed one not above four times this
    void place(float x, float y, float width, float height, int cells, float largestCell) {
        place(x, y, width, height, cells, cells, 1, largestCell);
    }
    /// @param aspect height of a cell by its width, which largestCell bounds
    void place(float x, float y, float width, float height, int rows, int columns, float aspect, float largestCell);

    void fit() { zoomed_ = std::nullopt; }
    bool isFitted() const { return !zoomed_; }
    /// Enlarges about a point, which stays where it is.
    void zoom(float factor, float x, float y);
    void pan(float dx, float dy);

    float cellSize() const; ///< the width
    float cellHeight() const { return cellSize() * aspect_; }
    float left() const; ///< of cell (0, 0); outside the rectangle when it is scrolled away
    float top() const;
    std::optional<Cell> cellAt(float x, float y) const; ///< only within the rectangle
    /// Half-open ranges of the cells that show, whole or in part.
    std::pair<int, int> visibleQueries() const;
    std::pair<int, int> visibleKeys() const;

private:
    struct Zoomed {
        float cellSize;             ///< width
        float firstKey, firstQuery; ///< cell coordinates at the rectangle's corner
    };
    float fittedSize() const;
    void clampZoom();

    float x_ = 0, y_ = 0, width_ = 0, height_ = 0, largestCell_ = 64;
    float aspect_ = 1;
    int rows_ = 0, columns_ = 0;
    std::optional<Zoomed> zoomed_;
};

} // namespace attn::scope
