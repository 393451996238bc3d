#pragma once

#include <QEvent>
#include <QLabel>

namespace attn {

/// A label whose class has a font of its own, which follows the text size (applyTheme).
class Heading : public QLabel {
public:
    using QLabel::QLabel;

protected:
    bool event(QEvent* event) override {
        const bool isHandled = QLabel::event(event);
        if (event->type() ==
            QEvent::Polish) { // under a style sheet, Qt looks up the font of a class only when it changes
            QEvent change(QEvent::ApplicationFontChange);
            QLabel::event(&change);
        }
        return isHandled;
    }
};

/// The title of a section.
class Title : public Heading {
    Q_OBJECT

public:
    using Heading::Heading;
};

/// The first line of a page.
class Headline : public Heading {
    Q_OBJECT

public:
    using Heading::Heading;
};

} // namespace attn
