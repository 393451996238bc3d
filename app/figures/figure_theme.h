#pragma once

#include "app/figures/typeface.h"

#include <QColor>
#include <QFont>
#include <QSizeF>

namespace attn {

/// The colours and text sizes of all figures. Each role has the same hue in every theme and view (Okabe and Ito's
/// palette, safe for colour-blind readers).
struct FigureTheme {
    static constexpr double kMostGrowth = 1.5; ///< of the text of a figure in a large room
    /// How far cells stretch on screen: the longer side over the shorter one.
    static constexpr double kMostStretch = 2;

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
    double leastText = 0;   ///< pixels of the smallest text on screen
    bool fillsRoom = false; ///< cells stretch to fill the room, as on screen; the cells of a page keep their shape

    static FigureTheme light(double size = 12);
    static FigureTheme dark(double size = 12);
    /// Black on white with heavy lines.
    static FigureTheme projector(double size = 18);

    /// The theme of a figure on screen, the one rule of all views: cells stretch, and text grows with the room.
    /// @param most the largest growth at which the figure still has room for its words
    FigureTheme inRoom(const QSizeF& room, double most = kMostGrowth) const;

    QFont textFont() const { return sized(TextSize::Body); }
    QFont smallFont() const { return sized(TextSize::Caption); }
    QFont titleFont() const { return sized(TextSize::Title); }
    double lineHeight() const { return size * 1.35; }

private:
    QFont sized(TextSize which) const;
};

} // namespace attn
