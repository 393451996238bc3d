#pragma once

#include <QRect>

class QWidget;

namespace attn {

/// Moves a window, with its frame, into a rectangle of the screen, and shrinks it to fit. Qt itself keeps a size that
/// was chosen on a larger screen or that large text requires.
void fitInto(QWidget& window, const QRect& room);

/// Moves a window into the screen that shows it or will show it, and shrinks it to fit.
void fitScreen(QWidget& window);

} // namespace attn
