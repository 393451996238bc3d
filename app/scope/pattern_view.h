#pragma once

#include <optional>
#include <utility>

namespace attn::scope {

struct Cell {
    int query = 0, key = 0;
    bool operator==(const Cell&) const = default;
};

/// The visible part of a matrix in a rectangle, and its scale. Works in any unit of length; views use ImGui's.
/// Until the user zooms, the whole matrix is fitted and centred, and shrinks as it gets more cells.
class PatternView {
public:
    /// @param largestCell the largest size of a fitted cell; a zoomed cell may be four times as large
    void place(float x, float y, float width, float height, int cells, float largestCell) {
        place(x, y, width, height, cells, cells, 1, largestCell);
    }
    /// @param aspect height of a cell divided by its width; largestCell limits the width
    void place(float x, float y, float width, float height, int rows, int columns, float aspect, float largestCell);

    void fit() { zoomed_ = std::nullopt; }
    bool isFitted() const { return !zoomed_; }
    /// Zooms about a point, which keeps its place.
    void zoom(float factor, float x, float y);
    void pan(float dx, float dy);

    float cellSize() const; ///< the width
    float cellHeight() const { return cellSize() * aspect_; }
    float left() const; ///< edge of cell (0, 0); outside the rectangle when it is scrolled away
    float top() const;
    std::optional<Cell> cellAt(float x, float y) const; ///< only within the rectangle
    /// Half-open ranges of the cells that are at least partly visible.
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
