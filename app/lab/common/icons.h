#pragma once

#include <QColor>
#include <QIcon>

namespace attn {

/// An icon of the program, drawn in one colour. @param name of a file in assets/icons, without its suffix
QIcon themedIcon(const QString& name, const QColor& colour);

} // namespace attn
