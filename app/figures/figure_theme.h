#pragma once

#include "app/figures/typeface.h"

#include <QColor>
#include <QFont>

namespace attn {

/// The colours and text sizes of all figures. Each role has the same hue in every theme and view (Okabe and Ito's
/// palette, safe for colour-blind readers).
struct FigureTheme {
    QColor background;
    QColor plot; ///< cells of a heatmap without a value: masked or hidden
    QColor text;
    QColor faint;  ///< axis titles, ticks, remarks
    QColor line;   ///< frames and grids
    QColor accent; ///< the selection
    QColor query, key, value, prediction;
    QFont font;       ///< family and weight; sizes are below
    double size = 12; ///< text, in pixels (logical, so that screen, SVG and PDF agree)
    bool isDark = false;

    static FigureTheme light(double size = 12);
    static FigureTheme dark(double size = 12);
    /// Black on white with heavy lines.
    static FigureTheme projector(double size = 18);

    QFont textFont() const { return sized(TextSize::Body); }
    QFont smallFont() const { return sized(TextSize::Caption); }
    QFont titleFont() const { return sized(TextSize::Title); }
    double lineHeight() const { return size * 1.35; }

private:
    QFont sized(TextSize which) const;
};

} // namespace attn
