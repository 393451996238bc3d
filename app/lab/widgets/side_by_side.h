#pragma once

#include <QWidget>

class QBoxLayout;

namespace attn {

/// Two parts side by side, or one above the other if they do not fit.
class SideBySide : public QWidget {
public:
    /// @param shares of the width
    SideBySide(QWidget* first, QWidget* second, int firstShare = 1, int secondShare = 1);

    QSize minimumSizeHint() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    void arrange();

    QWidget *first_, *second_;
    QBoxLayout* row_;
};

} // namespace attn
