#pragma once

#include <QObject>

namespace attn {

/// Prevents the mouse wheel from changing controls under the cursor while a form is scrolled: only a focused control
/// reacts. Install it on the application.
class WheelGuard : public QObject {
    Q_OBJECT

public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace attn
