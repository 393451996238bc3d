#pragma once

#include <QApplication>
#include <QMouseEvent>
#include <QWidget>

namespace attn {

/// Moves the pointer to a point of a widget, as far as the widget knows. QTest::mouseMove() moves the one of the X
/// server, whose events may come late, or not at all if something else has moved meanwhile.
inline void hover(QWidget& widget, const QPoint& point, Qt::MouseButtons held = Qt::NoButton) {
    QMouseEvent move(QEvent::MouseMove, point, widget.mapToGlobal(point), Qt::NoButton, held, {});
    QApplication::sendEvent(&widget, &move);
}

} // namespace attn
