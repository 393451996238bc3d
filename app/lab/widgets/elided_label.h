#pragma once

#include "app/lab/widgets/tool_tip.h"

#include <QLabel>
#include <QPainter>
#include <QStyle>

namespace attn {

/// A label of one line that never widens its container. Text that does not fit ends in "…", and the tool tip shows all.
class ElidedLabel : public QLabel {
public:
    explicit ElidedLabel(QWidget* parent = nullptr) : QLabel(parent) { setTextFormat(Qt::PlainText); }
    QSize sizeHint() const override { return {0, QLabel::sizeHint().height()}; }
    QSize minimumSizeHint() const override { return sizeHint(); }
    /// The visible part of the text.
    QString shown() const { return fontMetrics().elidedText(text(), Qt::ElideRight, room().width()); }

protected:
    bool event(QEvent* event) override {
        const auto whole = [this](const QPoint&) { return shown() == text() ? QString() : text(); };
        return showTip(this, event, whole) || QLabel::event(event);
    }
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        style()->drawItemText(&painter, room(), static_cast<int>(alignment()), palette(), isEnabled(), shown(),
                              foregroundRole());
    }

private:
    QRect room() const { return contentsRect().adjusted(margin(), margin(), -margin(), -margin()); }
};

} // namespace attn
