#pragma once

#include <QLabel>

#include <algorithm>

namespace attn {

/// A hint that has the height of two lines even with one, so that a longer one moves nothing below it.
class TwoLineHint : public QLabel {
public:
    explicit TwoLineHint(const QString& id) {
        setObjectName(id);
        setTextFormat(Qt::PlainText);
        setWordWrap(true);
        setProperty("hint", true);
    }
    int heightForWidth(int width) const override {
        return std::max(QLabel::heightForWidth(width), 2 * fontMetrics().lineSpacing());
    }
    QSize minimumSizeHint() const override {
        return QLabel::minimumSizeHint().expandedTo({0, 2 * fontMetrics().lineSpacing()});
    }
};

} // namespace attn
