#pragma once

#include "app/figures/figure_theme.h"
#include "app/lab/preferences.h"

namespace attn {

/// The figures' colours in a theme of the application, in the application's own type.
FigureTheme figureTheme(ThemeId theme);

} // namespace attn
