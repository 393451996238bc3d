#pragma once

#include <optional>
#include <utility>

namespace attn::scope {

struct Cell {
    int query = 0, key = 0;
    bool operator==(const Cell&) const = default;
};

/// Which part of a square pattern shows in a rectangle, and how large. Any unit of length; the page uses ImGui's.
/// Fitted until the reader zooms: the whole pattern shows, in the middle, and more tokens shrink it.
class PatternView {
public:
    /// @param largestCell a fitted cell grows no larger, a zoomed one not above four times this
    void place(float x, float y, float width, float height, int cells, float largestCell);

    void fit() { zoomed_ = std::nullopt; }
    bool isFitted() const { return !zoomed_; }
    /// Enlarges about a point, which stays where it is.
    void zoom(float factor, float x, float y);
    void pan(float dx, float dy);

    float cellSize() const;
    float left() const; ///< of cell (0, 0); outside the rectangle when it is scrolled away
    float top() const;
    std::optional<Cell> cellAt(float x, float y) const; ///< only within the rectangle
    /// Half-open ranges of the cells that show, whole or in part.
    std::pair<int, int> visibleQueries() const;
    std::pair<int, int> visibleKeys() const;

private:
    struct Zoomed {
        float cellSize;
        float firstKey, firstQuery; ///< cell coordinates at the rectangle's corner
    };
    float fittedSize() const;
    void clampZoom();

    float x_ = 0, y_ = 0, width_ = 0, height_ = 0, largestCell_ = 64;
    int cells_ = 0;
    std::optional<Zoomed> zoomed_;
};

} // namespace attn::scope
