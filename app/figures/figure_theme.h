#pragma once

#include <QColor>
#include <QFont>

namespace attn {

/// Colours and type sizes of all figures. Roles keep one hue each in every theme and every view (Okabe and Ito's
/// palette, safe for colour-blind viewers).
struct FigureTheme {
    QColor background;
    QColor plot; ///< where a heatmap has no value: masked or hidden
    QColor text;
    QColor faint;  ///< axis titles, ticks, remarks
    QColor line;   ///< frames and grids
    QColor accent; ///< what is selected
    QColor query, key, value, prediction;
    QFont font;       ///< family and weight; sizes are below
    double size = 12; ///< text, in pixels (logical, so that screen, SVG and PDF agree)
    bool isDark = false;

    static FigureTheme light(double size = 12);
    static FigureTheme dark(double size = 12);
    /// Black on white with heavy lines.
    static FigureTheme projector(double size = 18);

    QFont textFont() const { return sized(1.0); }
    QFont smallFont() const { return sized(0.85); }
    QFont titleFont() const;
    double lineHeight() const { return size * 1.35; }

private:
    QFont sized(double factor) const;
};

} // namespace attn
