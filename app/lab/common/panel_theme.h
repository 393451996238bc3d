#pragma once

#include "app/figures/figure_theme.h"
#include "app/lab/common/preferences.h"

namespace attn {

/// Colours of figures in a theme of the application, with the application's font size.
FigureTheme figureTheme(ThemeId theme);

} // namespace attn
