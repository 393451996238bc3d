#pragma once

#include "app/lab/common/theme.h"

#include <QEvent>
#include <QLabel>

namespace attn {

/// A label in one of the larger sizes. It follows the program's text size.
class Heading : public QLabel {
    Q_OBJECT

public:
    explicit Heading(TextSize size, const QString& text = {}, QWidget* parent = nullptr) : QLabel(parent), size_(size) {
        setTextFormat(Qt::PlainText);
        setText(text);
        setFont(textFont(size_));
    }

protected:
    bool event(QEvent* event) override {
        if (event->type() == QEvent::ApplicationFontChange) setFont(textFont(size_));
        return QLabel::event(event);
    }

private:
    TextSize size_;
};

} // namespace attn
