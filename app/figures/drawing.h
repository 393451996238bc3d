#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/figure_theme.h"

#include "engine/models/class_activation.h"

#include <QPainter>
#include <QRectF>
#include <QString>

#include <optional>
#include <vector>

namespace attn {

/// The area of a figure on a page: clipped to itself, and filled, while it is drawn.
class FigurePage {
public:
    FigurePage(QPainter& painter, const QRectF& area, const FigureTheme& theme) : painter_(painter) {
        painter.save();
        painter.setClipRect(area, Qt::IntersectClip);
        painter.fillRect(area, theme.background);
    }
    ~FigurePage() { painter_.restore(); }
    FigurePage(const FigurePage&) = delete;
    FigurePage& operator=(const FigurePage&) = delete;

private:
    QPainter& painter_;
};

/// In the middle of a rectangle's height, at its left or at its right.
inline constexpr Qt::Alignment kAtLeft = Qt::AlignLeft | Qt::AlignVCenter, kAtRight = Qt::AlignRight | Qt::AlignVCenter;

/// Draws one line of text in a rectangle. Text that does not fit ends in "…".
void drawLine(QPainter& painter, const QRectF& rect, Qt::Alignment alignment, const QString& text, const QFont& font,
              const QColor& colour);

/// Draws one line of text that reads upwards.
/// @param rect the area on the page, after the text is turned
void drawUpwards(QPainter& painter, const QRectF& rect, Qt::Alignment alignment, const QString& text, const QFont& font,
                 const QColor& colour);

/// Draws a wrapped sentence in the middle of the area, for empty figures.
void drawMessage(QPainter& painter, const QRectF& area, const QString& text, const FigureTheme& theme);

struct Tick {
    double place = 0; ///< 0..1 from the bottom
    QString label;
};
/// Draws a vertical colour bar with ticks to its right.
void drawColourBar(QPainter& painter, const QRectF& bar, const ColourMap& map, const std::vector<Tick>& ticks,
                   const FigureTheme& theme);

/// How many series have colours of their own.
inline constexpr size_t kSeriesColours = 8;
/// The colour of a line in a plot, for any index. The eight colours are far apart for readers with and without a colour
/// deficiency, and stand out from light and from dark grounds.
QColor seriesColour(size_t index);

/// Round numbers in a range for the marks of an axis: 1, 2 or 5 times a power of ten apart.
/// @param most the largest number of marks, at least 2  @pre low < high
std::vector<double> roundMarks(double low, double high, int most);
/// The text of each mark: "0", "0.5", "1.0"; "5×10⁻⁵" for very small ones.
QString markText(double mark, const std::vector<double>& marks);

/// "10⁻³" for -3.
QString powerOfTen(int exponent);

/// The height of a line of small text, in whole pixels.
double smallLine(const FigureTheme& theme);

double textWidth(const QString& text, const QFont& font);

/// A readable number with this many decimals and a true minus sign.
QString formatNumber(double value, int decimals);
/// The same with this many digits that count: "0.00123", "−4.5e-06".
QString formatShort(double value, int digits);
/// A number that was measured, with this many decimals. One that is too small for them has three digits that count:
/// "0.312", "0.00456", "3.1e-05".
QString formatMeasured(double value, int decimals);
/// A share of 1 as "12.3 %"; "<0.1 %" for one that is not zero and would be shown so.
QString formatPercent(double share, int decimals = 1);
/// What a classifier says of a class: a percentage, or the number of a regression.
QString formatSaid(double said, ClassActivation activation);
/// The number that formatNumber() or formatShort() wrote; none: it is another text.
std::optional<double> readNumber(const QString& text);
/// "3,245,760" for 3245760.
QString grouped(qint64 number);
/// A probability with two decimals; "<.01" for a small one that is not zero.
QString formatProbability(double value);

/// A float32 without loss of precision, for files.
QString csvNumber(float value);
QString csvText(const QString& text);
/// What a cell of a table shows, for files: numbers have the minus sign of ASCII.
QString csvCell(const QString& shown);

} // namespace attn
