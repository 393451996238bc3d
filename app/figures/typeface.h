#pragma once

#include <QByteArray>
#include <QFont>

namespace attn {

/// The bundled typeface, in which digits have one width (assets/fonts); scripts that it lacks come from the system.
/// Needs an application object. @return the font at the application's size
QFont bundledFont();

/// The sizes of all text, in windows and in figures. Rich text has two of them by itself: h3 is a title, h2 a headline.
enum class TextSize { Caption, Body, Title, Headline };

/// A size as a multiple of the body's.
double textRatio(TextSize size);
/// The weight of text in a size: titles and headlines are heavier. @param body weight of the body
QFont::Weight textWeight(TextSize size, QFont::Weight body);

/// An SVG file in which the bundled typeface has substitutes, for readers who do not have it.
QByteArray withSubstitutes(QByteArray svg);

} // namespace attn
