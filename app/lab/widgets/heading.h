#pragma once

#include <QLabel>

namespace attn {

// The theme gives each of these classes a font of its own, which follows the text size (applyTheme).

/// The title of a section.
class Title : public QLabel {
    Q_OBJECT

public:
    using QLabel::QLabel;
};

/// The first line of a page.
class Headline : public QLabel {
    Q_OBJECT

public:
    using QLabel::QLabel;
};

} // namespace attn
