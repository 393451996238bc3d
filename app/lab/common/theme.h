#pragma once

#include "app/figures/figure_theme.h"
#include "app/lab/common/preferences.h"

#include <QFont>
#include <QPalette>

namespace attn {

/// The palette of a theme: light, dark, or projector (black on white with strong accents).
QPalette themePalette(ThemeId theme);

/// The colour of predictions in text, bars and plots.
QColor predictionColour(ThemeId theme);

/// Colours of figures in a theme of the application, with the application's font size.
FigureTheme figureTheme(ThemeId theme);

/// The application's font at one of its sizes; titles and headlines are heavier.
QFont textFont(TextSize size);

/// Sets the style, palette, text size and style sheet of the whole application.
/// @param textSize per cent of the theme's own size; projector text is 1.5 times as large as in the other themes
void applyTheme(ThemeId theme, int textSize);

} // namespace attn
