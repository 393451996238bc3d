#include "app/lab/lessons/lesson_pointer.h"

#include <QPainter>
#include <QScrollArea>

namespace attn {
namespace {
constexpr int kRoom = 4, kWidth = 3;
}

LessonPointer::LessonPointer(QWidget* window) : QWidget(window) {
    setObjectName("lessonPointer");
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAttribute(Qt::WA_NoSystemBackground);
    setFocusPolicy(Qt::NoFocus);
    hide();
}

void LessonPointer::pointAt(QWidget* control) {
    if (control && control != control_)
        for (QWidget* up = control->parentWidget(); up; up = up->parentWidget())
            if (auto* area = qobject_cast<QScrollArea*>(up)) area->ensureWidgetVisible(control, 8, 8);
    control_ = control;
    follow();
}

void LessonPointer::follow() {
    const QRect seen = control_ && control_->isVisible() ? control_->visibleRegion().boundingRect() : QRect();
    if (seen.isEmpty()) return hide();
    QWidget* window = control_->window();
    if (window != parentWidget()) setParent(window); // its dock was detached or attached
    const QRect place(control_->mapTo(window, seen.topLeft()), seen.size());
    setGeometry(place.adjusted(-kRoom, -kRoom, kRoom, kRoom).intersected(window->rect()));
    show();
    raise();
}

void LessonPointer::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF ring = QRectF(rect()).adjusted(kWidth / 2.0, kWidth / 2.0, -kWidth / 2.0, -kWidth / 2.0);
    painter.setPen(QPen(palette().color(QPalette::Base), kWidth + 1));
    painter.drawRoundedRect(ring, 6, 6);
    painter.setPen(QPen(QColor("#e0218a"), kWidth)); // no other part of the window has this hue
    painter.drawRoundedRect(ring, 6, 6);
}

} // namespace attn
