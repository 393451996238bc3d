#pragma once

#include <QObject>

namespace attn {

/// Keeps the mouse wheel from changing choices, numbers and sliders that pass under the cursor while a form is
/// scrolled: only a focused control reacts. Install it on the application.
class WheelGuard : public QObject {
    Q_OBJECT

public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace attn
