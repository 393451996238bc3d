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

/// The area of a figure on a page. It clips drawing to the area and fills it with the background.
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

/// Centred vertically, at the left or at the right.
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

/// One name in the place of another: "dog ← cat".
QString pairLabel(const QString& own, const QString& other);
bool isPairLabel(const QString& label);
/// A label that is at most so wide. Of a pair, both names are cut, so that each can be told.
QString fittedLabel(const QString& label, const QFont& font, double width);

/// A readable number with this many decimals and a true minus sign.
QString formatNumber(double value, int decimals);
/// A number with this many significant digits: "0.00123", "−4.5e-06".
QString formatShort(double value, int digits);
/// A measured number with this many decimals, or with three significant digits if they would show nothing: "0.312",
/// "0.00456", "3.1e-05".
QString formatMeasured(double value, int decimals);
/// A fraction as "12.3 %", or "<0.1 %" if a positive one would be shown as 0.
QString formatPercent(double share, int decimals = 1);
/// An output of a classifier: a percentage, or the number of a regression.
QString formatSaid(double said, ClassActivation activation);
/// The number in a text that formatNumber() or formatShort() wrote; none for any other text.
std::optional<double> readNumber(const QString& text);
/// "3,245,760" for 3245760.
QString grouped(qint64 number);
/// A probability with two decimals, or "<.01" if a positive one would be shown as 0.
QString formatProbability(double value);

/// A float32 without loss of precision, for files.
QString csvNumber(float value);
QString csvText(const QString& text);
/// A cell of a table for files: its numbers get an ASCII minus sign.
QString csvCell(const QString& shown);

} // namespace attn
