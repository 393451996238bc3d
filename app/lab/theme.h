#pragma once

#include "app/lab/preferences.h"

#include <QPalette>

namespace attn {

/// Palette of a theme: light, dark, or projector (black on white, strong accents).
QPalette themePalette(ThemeId theme);

/// The hue that stands for predictions, the same in text, bars and plots.
QColor predictionColour(ThemeId theme);

/// Sets style, palette, type size and style sheet of the whole application.
/// @param textSize per cent of the theme's own size; projector type is 1.5 times as large as the others'
void applyTheme(ThemeId theme, int textSize);

} // namespace attn
