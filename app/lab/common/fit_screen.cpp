#include "app/lab/common/fit_screen.h"

#include <QScreen>
#include <QStyle>
#include <QWidget>

#include <algorithm>

namespace attn {

void fitInto(QWidget& window, const QRect& room) {
    // A window that is not on screen yet has no frame to measure.
    const int title = window.style()->pixelMetric(QStyle::PM_TitleBarHeight, nullptr, &window);
    const QSize least = window.size().boundedTo(room.size() - QSize(0, title));
    if (least != window.size()) window.resize(least);
    const QPoint at = window.pos();
    const QPoint inside(
        std::clamp(at.x(), room.left(), std::max(room.left(), room.right() + 1 - least.width())),
        std::clamp(at.y(), room.top(), std::max(room.top(), room.bottom() + 1 - least.height() - title)));
    // Without a position, the window manager chooses one.
    if (inside != at && window.testAttribute(Qt::WA_Moved)) window.move(inside);
}

void fitScreen(QWidget& window) { fitInto(window, window.screen()->availableGeometry()); }

} // namespace attn
