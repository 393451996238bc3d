#pragma once

#include <QKeyEvent>
#include <QWidget>

namespace attn {

/// Whether an event is the Escape key, pressed anywhere in the window of a widget or about to be a shortcut there.
inline bool isEscapeIn(const QWidget& widget, const QObject* watched, const QEvent& event) {
    const bool isKey = event.type() == QEvent::ShortcutOverride || event.type() == QEvent::KeyPress;
    const auto* pressed = isKey ? qobject_cast<const QWidget*>(watched) : nullptr;
    return pressed && pressed->window() == widget.window() &&
           static_cast<const QKeyEvent&>(event).key() == Qt::Key_Escape;
}

} // namespace attn
