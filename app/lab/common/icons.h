#pragma once

#include <QIcon>
#include <QPalette>

namespace attn {

/// An icon of the program, drawn in the palette's current colour of a role, so that it follows the theme.
/// @param name of a file in assets/icons, without its suffix  @param role of the text beside it
QIcon themedIcon(const QString& name, QPalette::ColorRole role = QPalette::WindowText);

} // namespace attn
