#include "app/lab/widgets/wheel_guard.h"

#include <QAbstractSpinBox>
#include <QComboBox>
#include <QEvent>
#include <QScrollArea>
#include <QSlider>

namespace attn {
namespace {

bool liesInScrollArea(const QWidget* widget) {
    for (const QWidget* parent = widget->parentWidget(); parent; parent = parent->parentWidget())
        if (qobject_cast<const QScrollArea*>(parent)) return true;
    return false;
}

} // namespace

bool WheelGuard::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::Wheel && event->type() != QEvent::Polish) return false;
    const bool changesByWheel = qobject_cast<QComboBox*>(watched) || qobject_cast<QAbstractSpinBox*>(watched) ||
                                qobject_cast<QSlider*>(watched);
    if (!changesByWheel) return false;
    auto* widget = static_cast<QWidget*>(watched);
    if (event->type() == QEvent::Polish) {
        // Otherwise the wheel would also give the widget the focus.
        if (widget->focusPolicy() == Qt::WheelFocus) widget->setFocusPolicy(Qt::StrongFocus);
        return false;
    }
    // A box keeps the focus after a choice, but then the wheel is meant for the form.
    const bool isMeant = widget->hasFocus() && !qobject_cast<QComboBox*>(watched);
    if (isMeant || !liesInScrollArea(widget)) return false;
    event->ignore(); // the form around the widget receives it
    return true;
}

} // namespace attn
