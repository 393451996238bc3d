#pragma once

#include <QHelpEvent>
#include <QToolTip>
#include <QWidget>

namespace attn {

/// Shows a tool tip if a widget is asked for one. @param textAt returns the text for a point; empty: none
/// @return false if the event is another one
template <class TextAt> bool showTip(QWidget* widget, QEvent* event, TextAt textAt) {
    if (event->type() != QEvent::ToolTip) return false;
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), textAt(help->pos()), widget); // an empty text hides the last tool tip
    return true;
}

} // namespace attn
