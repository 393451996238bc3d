#pragma once

#include <QByteArray>
#include <QFont>

namespace attn {

/// The bundled typeface, in which digits have one width (assets/fonts); scripts that it lacks come from the system.
/// Needs an application object. @return the font at the application's size
QFont bundledFont();

/// An SVG file in which the bundled typeface has substitutes, for readers who do not have it.
QByteArray withSubstitutes(QByteArray svg);

} // namespace attn
