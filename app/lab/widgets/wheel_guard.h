#pragma once

#include <QObject>

namespace attn {

/// Keeps the wheel from changing choices, numbers and sliders that lie under the cursor while a form is scrolled: only
/// the one that has the focus listens. Install it on the application.
class WheelGuard : public QObject {
    Q_OBJECT

public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace attn
