#pragma once

#include "tests/support/catch.h"
#include "tests/support/samples.h"

#include <QApplication>
#include <QtTest>

#include <vector>

namespace attn {

/// Makes the application object once; needs a display, as CTest's run_gui.sh gives.
inline void useWidgets() {
    if (qApp) return;
    static int argc = 1;
    static char name[] = "test_lab_widgets";
    static char* argv[] = {name, nullptr};
    // Lives until the process ends: Qt's own statics may still need it.
    static auto* application = new QApplication(argc, argv);
    Q_UNUSED(application)
}

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
