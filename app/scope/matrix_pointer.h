#pragma once

#include "app/scope/pattern_view.h"
#include "app/scope/view.h"

#include <optional>

namespace attn::scope {

/// The pointer over a matrix: the wheel enlarges about it, dragging moves, and it rests on a cell.
class MatrixPointer {
public:
    /// Once in each frame. @param plot where the matrix shows
    void handle(PatternView& view, const Area& plot);
    /// The cell under it; none while it drags.
    const std::optional<Cell>& hovered() const { return hovered_; }

private:
    bool isDragging_ = false;
    std::optional<Cell> hovered_;
};

} // namespace attn::scope
