#pragma once

#include <QKeyEvent>

#include <optional>

namespace attn {

/// The step that an arrow key takes in a grid.
struct ArrowStep {
    int right = 0, down = 0;
};
/// @return the step of the key that was pressed; none if it is no arrow key
inline std::optional<ArrowStep> arrowStep(const QKeyEvent& event) {
    switch (event.key()) {
    case Qt::Key_Left:
        return ArrowStep{.right = -1};
    case Qt::Key_Right:
        return ArrowStep{.right = 1};
    case Qt::Key_Up:
        return ArrowStep{.down = -1};
    case Qt::Key_Down:
        return ArrowStep{.down = 1};
    default:
        return {};
    }
}

} // namespace attn
