#pragma once

#include <QWidget>

namespace attn {

/// Names a widget for tests, screen readers and its tool tip. @param help empty: the name says all
template <class Widget> Widget* named(Widget* widget, const char* id, const QString& name, const QString& help = {}) {
    widget->setObjectName(QString::fromLatin1(id));
    widget->setAccessibleName(name);
    widget->setToolTip(help.isEmpty() ? name : help);
    return widget;
}

} // namespace attn
