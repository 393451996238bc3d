#pragma once

#include <QByteArray>
#include <QFont>

namespace attn {

/// The bundled typeface, in which digits have one width (assets/fonts). Other fonts of the system supply scripts that
/// it lacks. Needs an application object. @return the font at the application's size
QFont bundledFont();

/// The sizes of all text, in windows and in figures. In rich text, h3 is a title and h2 a headline.
enum class TextSize { Caption, Body, Title, Headline };

/// A size relative to the body text.
double textRatio(TextSize size);
/// The weight of text in this size: titles and headlines are heavier. @param body weight of the body
QFont::Weight textWeight(TextSize size, QFont::Weight body);

/// An SVG file that names substitutes for the bundled typeface, for readers without it.
QByteArray withSubstitutes(QByteArray svg);

} // namespace attn
