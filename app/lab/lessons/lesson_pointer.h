#pragma once

#include <QPointer>
#include <QWidget>

namespace attn {

/// A ring around a control, above everything else in its window; clicks go through it.
class LessonPointer : public QWidget {
    Q_OBJECT

public:
    explicit LessonPointer(QWidget* window);

    /// @param control null: none
    void pointAt(QWidget* control);
    /// Goes where the control now is.
    void follow();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QPointer<QWidget> control_;
};

} // namespace attn
