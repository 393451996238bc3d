#pragma once

#include <QHelpEvent>
#include <QToolTip>
#include <QWidget>

namespace attn {

/// Answers the question for a tool tip at a point of a widget. @param textAt of a point; empty: none
/// @return false: the event asks for something else
template <class TextAt> bool showTip(QWidget* widget, QEvent* event, TextAt textAt) {
    if (event->type() != QEvent::ToolTip) return false;
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), textAt(help->pos()), widget); // an empty text hides the last one
    return true;
}

} // namespace attn
