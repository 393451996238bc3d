#pragma once

#include "tests/support/catch.h"
#include "tests/support/samples.h"

#include <QtTest>
#include <QtWidgets>

namespace attn {

/// Shows a widget in a window of its own and waits until it is there.
template <class T> void present(T& widget, const QSize& size) {
    widget.resize(size);
    widget.show();
    widget.activateWindow();
    REQUIRE(QTest::qWaitForWindowExposed(&widget, 60'000));
    widget.setFocus();
}

inline QRgb colourAt(const QImage& image, const QPointF& point) { return image.pixel(point.toPoint()) | 0xff000000; }

} // namespace attn
