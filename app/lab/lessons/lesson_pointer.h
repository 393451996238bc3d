#pragma once

#include <QPointer>
#include <QWidget>

namespace attn {

/// A ring around a control, drawn above everything else in the window. Clicks pass through it.
class LessonPointer : public QWidget {
    Q_OBJECT

public:
    explicit LessonPointer(QWidget* window);

    /// @param control null: hide the ring
    void pointAt(QWidget* control);
    /// Moves the ring to the control's current position.
    void follow();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QPointer<QWidget> control_;
};

} // namespace attn
