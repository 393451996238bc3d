#pragma once

#include <QEvent>
#include <QWidget>

#include <functional>
#include <utility>

namespace attn {

/// Sets sizes of a widget that depend on its font: now, and each time the font changes.
class FontFit : public QObject {
public:
    using Fit = std::function<void(const QFontMetrics& font)>;
    FontFit(QWidget* widget, Fit fit) : QObject(widget), widget_(widget), fit_(std::move(fit)) {
        widget->installEventFilter(this);
        fit_(widget->fontMetrics());
    }
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::FontChange) fit_(widget_->fontMetrics());
        return QObject::eventFilter(watched, event);
    }

private:
    QWidget* widget_;
    Fit fit_;
};

/// Keeps a widget at least as wide as a text in its font.
inline void keepWidthOf(QWidget* widget, const QString& text) {
    new FontFit(widget,
                [widget, text](const QFontMetrics& font) { widget->setMinimumWidth(font.horizontalAdvance(text)); });
}

/// Keeps a widget at least as wide as so many characters of its font.
inline void keepCharacters(QWidget* widget, int count) {
    new FontFit(widget, [widget, count](const QFontMetrics& font) {
        widget->setMinimumWidth(font.averageCharWidth() * count);
    });
}

} // namespace attn
