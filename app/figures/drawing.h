#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/figure_theme.h"

#include <QPainter>
#include <QRectF>
#include <QString>

#include <vector>

namespace attn {

/// One line of text in a rectangle, cut with "…" where it does not fit.
void drawLine(QPainter& painter, const QRectF& rect, Qt::Alignment alignment, const QString& text, const QFont& font,
              const QColor& colour);

/// The same, reading upwards: the rectangle is as the text appears on the page.
void drawUpwards(QPainter& painter, const QRectF& rect, Qt::Alignment alignment, const QString& text, const QFont& font,
                 const QColor& colour);

/// A sentence in the middle, wrapped: what an empty figure says.
void drawMessage(QPainter& painter, const QRectF& area, const QString& text, const FigureTheme& theme);

struct Tick {
    double place = 0; ///< 0..1 from the bottom
    QString label;
};
/// A vertical colour bar with ticks to its right.
void drawColourBar(QPainter& painter, const QRectF& bar, const ColourMap& map, const std::vector<Tick>& ticks,
                   const FigureTheme& theme);

/// Of the lines of a plot, as many as there are: Okabe and Ito's palette in an order that keeps neighbours apart.
QColor seriesColour(size_t index);

double textWidth(const QString& text, const QFont& font);

/// A number for people: `decimals` places, a true minus sign.
QString formatNumber(double value, int decimals);
/// Two decimals; "<.01" for what would read as nothing although it is something.
QString formatProbability(double value);

/// A float32 exactly, for files.
QString csvNumber(float value);
QString csvText(const QString& text);

} // namespace attn
