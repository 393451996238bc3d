#pragma once

#include <QRect>

class QWidget;

namespace attn {

/// Makes a window no larger than the room on a screen, with its frame, and moves it there. Qt keeps a size that was
/// chosen on a larger screen, or that large type asks for.
void fitInto(QWidget& window, const QRect& room);

/// The same, with the screen that the window is on, or that it will open on.
void fitScreen(QWidget& window);

} // namespace attn
