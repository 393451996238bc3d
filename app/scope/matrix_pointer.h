#pragma once

#include "app/scope/pattern_view.h"
#include "app/scope/view.h"

#include <optional>

namespace attn::scope {

/// Handles the pointer over a matrix: the wheel zooms about it, dragging pans, and it hovers over a cell.
class MatrixPointer {
public:
    /// Call this once per frame. @param plot the area of the matrix
    void handle(PatternView& view, const Area& plot);
    /// The cell under the pointer; none during a drag.
    const std::optional<Cell>& hovered() const { return hovered_; }

private:
    bool isDragging_ = false;
    std::optional<Cell> hovered_;
};

} // namespace attn::scope
