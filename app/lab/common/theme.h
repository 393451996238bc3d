#pragma once

#include "app/lab/common/preferences.h"

#include <QPalette>

namespace attn {

/// The palette of a theme: light, dark, or projector (black on white with strong accents).
QPalette themePalette(ThemeId theme);

/// The colour of predictions in text, bars and plots.
QColor predictionColour(ThemeId theme);

/// Sets the style, palette, text size and style sheet of the whole application.
/// @param textSize per cent of the theme's own size; projector text is 1.5 times as large as in the other themes
void applyTheme(ThemeId theme, int textSize);

} // namespace attn
