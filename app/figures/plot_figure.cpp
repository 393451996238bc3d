#include "app/figures/plot_figure.h"

#include "app/figures/drawing.h"

#include <QPolygonF>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

constexpr size_t kMostPoints = 400; ///< most points of a drawn line; more are averaged
constexpr double kSample = 1.6;     ///< length of a line before its name, in lines of text
constexpr double kMostLegend = 0.3; ///< share of the width; a wider legend stands above the plot
constexpr double kLeast = 1e-6;     ///< least end of a logarithmic axis

/// Averages neighbouring points, so that a long run draws as fast as a short one.
std::vector<QPointF> thinned(const std::vector<QPointF>& points) {
    if (points.size() <= kMostPoints) return points;
    std::vector<QPointF> result;
    for (size_t i = 0; i < kMostPoints; ++i) {
        const size_t begin = i * points.size() / kMostPoints, end = (i + 1) * points.size() / kMostPoints;
        QPointF sum;
        for (size_t j = begin; j < end; ++j) sum += points[j];
        result.push_back(sum / static_cast<double>(end - begin));
    }
    return result;
}

/// The short form of a length, such as 4k for 4096.
QString lengthText(int length) {
    return length >= 1024 && length % 1024 == 0 ? QStringLiteral("%1k").arg(length / 1024) : QString::number(length);
}

/// A power of ten, written out from 0.01 to 1000, otherwise as 10 with an exponent.
QString powerText(double value) {
    const int exponent = static_cast<int>(std::lround(std::log10(value)));
    return exponent >= -2 && exponent <= 3 ? QString::number(value, 'g', 4) : powerOfTen(exponent);
}

/// Whole round numbers from 0 to the last place.
std::vector<int> placeMarks(int last) {
    std::vector<int> places;
    for (const double mark : roundMarks(0, last, std::min(last, 5) + 1)) places.push_back(static_cast<int>(mark + 0.5));
    return places;
}

} // namespace

/// Positions of places and values.
struct PlotFigure::Axes {
    QRectF plot;
    std::vector<int> places;    ///< with a mark
    std::vector<double> values; ///< with a mark
    double first = 0, span = 1, bottom = 0, height = 1;
    bool isDoubling = false, isLogarithmic = false;
    std::vector<QRectF> legend; ///< above the plot, one rectangle per line; empty if names are at line ends

    QString valueText(double value) const { return isLogarithmic ? powerText(value) : markText(value, values); }
    double placed(double place) const { return isDoubling ? std::log2(place) : place; }
    double scaled(double value) const { return isLogarithmic ? std::log10(value) : value; }
    double x(double place) const { return plot.left() + (placed(place) - first) / span * plot.width(); }
    double y(double value) const { return plot.bottom() - (scaled(value) - bottom) / height * plot.height(); }
};

PlotFigure::Axes PlotFigure::axes(const QRectF& area, const FigureTheme& theme) const {
    Axes axes{.places = lengths, .isDoubling = !lengths.empty(), .isLogarithmic = isLogarithmic};
    int last = 2;
    for (const Line& each : lines) last = std::max(last, static_cast<int>(each.points.back().x()));
    if (lengths.empty()) axes.places = placeMarks(last);
    axes.first = axes.placed(axes.places.front());
    axes.span = std::max(1.0, axes.placed(lengths.empty() ? last : lengths.back()) - axes.first);
    axes.bottom = axes.scaled(minimum);
    axes.height = std::max(axes.scaled(maximum) - axes.bottom, 1e-12);
    if (isLogarithmic)
        for (int i = 0; i <= std::max(1, static_cast<int>(std::lround(axes.height))); ++i)
            axes.values.push_back(std::pow(10, axes.bottom + i));
    else
        axes.values = roundMarks(minimum, std::max(maximum, minimum + 1e-12), 6);
    double left = 0, legend = 0;
    for (const double value : axes.values) left = std::max(left, textWidth(axes.valueText(value), theme.smallFont()));
    for (const Line& each : lines) legend = std::max(legend, textWidth(each.label, theme.textFont()));
    const double line = theme.lineHeight();
    double above = (valueTitle.isEmpty() ? 2.4 : 3.4) * line,
           right = legend > 0 ? legend + (kSample + 1.6) * line : line;
    if (legend > 0 && right > kMostLegend * area.width()) {
        const double room = area.width() - 2 * line;
        QPointF at(area.left() + line, area.top() + above - 0.4 * line);
        for (const Line& each : lines) {
            const double wide = std::min(textWidth(each.label, theme.textFont()) + (kSample + 1) * line, room);
            if (at.x() + wide > area.left() + line + room) at = {area.left() + line, at.y() + line};
            axes.legend.emplace_back(at, QSizeF(wide, line));
            at.rx() += wide;
        }
        above = at.y() - area.top() + 1.6 * line;
        right = line;
    }
    axes.plot = area.adjusted(left + line, above, -right, (placeTitle.isEmpty() ? -1.6 : -3) * line);
    return axes;
}

QRectF PlotFigure::plotArea(const QRectF& area, const FigureTheme& theme) const { return axes(area, theme).plot; }

void PlotFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    painter.fillRect(area, theme.background);
    painter.setRenderHint(QPainter::Antialiasing);
    const Axes at = axes(area, theme);
    const double line = theme.lineHeight();
    if (at.plot.width() < line || at.plot.height() < line) return;
    const double left = area.left() + line, width = area.width() - line;
    drawLine(painter, {left, area.top() + 0.4 * line, width, 1.6 * line}, kAtLeft, title, theme.titleFont(),
             theme.text);
    drawLine(painter, {left, area.top() + 1.9 * line, width, line}, kAtLeft, valueTitle, theme.smallFont(),
             theme.faint);
    drawLine(painter, {at.plot.left(), at.plot.bottom() + 1.4 * line, at.plot.width(), line}, Qt::AlignCenter,
             placeTitle, theme.smallFont(), theme.faint);
    paintMarks(painter, at, area, theme);
    if (lines.empty()) drawMessage(painter, at.plot, note, theme);
    paintLines(painter, at, area, theme);
}

void PlotFigure::paintMarks(QPainter& painter, const Axes& at, const QRectF& area, const FigureTheme& theme) const {
    const double line = theme.lineHeight();
    for (const double value : at.values) {
        painter.setPen(theme.line);
        painter.drawLine(QPointF(at.plot.left(), at.y(value)), QPointF(at.plot.right(), at.y(value)));
        drawLine(painter, {area.left(), at.y(value) - line, at.plot.left() - area.left() - 0.4 * line, 2 * line},
                 kAtRight, at.valueText(value), theme.smallFont(), theme.faint);
    }
    double written = area.left(); // the end of the last written mark
    for (const int place : at.places) {
        const QString text = lengths.empty() ? QString::number(place) : lengthText(place);
        const double half = textWidth(text, theme.smallFont()) / 2 + 0.2 * line;
        if (at.x(place) - half < written) continue;
        written = at.x(place) + half;
        drawLine(painter, {at.x(place) - half, at.plot.bottom() + 0.2 * line, 2 * half, line}, Qt::AlignCenter, text,
                 theme.smallFont(), theme.faint);
    }
    if (marked == 0) return;
    painter.setPen(QPen(theme.faint, 1, Qt::DashLine));
    // This value may not be measured yet.
    const double x = std::clamp(at.x(marked), at.plot.left(), at.plot.right());
    painter.drawLine(QPointF(x, at.plot.top()), QPointF(x, at.plot.bottom()));
}

void PlotFigure::paintLines(QPainter& painter, const Axes& at, const QRectF& area, const FigureTheme& theme) const {
    // Labels at line ends are moved apart so that they do not overlap.
    const auto height = [&](double value) { return at.y(std::clamp(value, minimum, maximum)); };
    std::vector<size_t> order(lines.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) { return height(lines[i].points.back().y()); });
    const double line = theme.lineHeight();
    double previous = at.plot.top() - line;
    for (const size_t i : order) {
        const Line& each = lines[i];
        const QColor colour = each.colour.isValid() ? each.colour : seriesColour(i);
        painter.setPen(QPen(colour, 2, each.isDashed ? Qt::DashLine : Qt::SolidLine));
        QPolygonF points;
        for (const QPointF& point : thinned(each.points)) points << QPointF(at.x(point.x()), height(point.y()));
        painter.drawPolyline(points);
        painter.setBrush(colour);
        if (!lengths.empty() || points.size() == 1)
            for (const QPointF& point : points) painter.drawEllipse(point, 2.5, 2.5);
        painter.setBrush(Qt::NoBrush);
        if (each.label.isEmpty()) continue;
        previous = std::max(previous + line, points.back().y());
        // A sample of the line precedes its name, so that the name can be in a readable colour.
        const double sample = at.legend.empty() ? at.plot.right() + 0.6 * line : at.legend[i].left(),
                     middle = at.legend.empty() ? previous : at.legend[i].center().y(),
                     end = at.legend.empty() ? area.right() : at.legend[i].right(), left = sample + kSample * line;
        painter.drawLine(QPointF(sample, middle), QPointF(left - 0.3 * line, middle));
        drawLine(painter, {left, middle - line, end - left, 2 * line}, kAtLeft, each.label, theme.textFont(),
                 theme.text);
    }
}

QString PlotFigure::summary() const {
    if (lines.empty()) return note;
    QStringList ends;
    for (const Line& each : lines)
        ends << (each.label.isEmpty() ? QString() : each.label + QStringLiteral(": ")) +
                    tr("%1 at %2").arg(each.points.back().y(), 0, 'g', 4).arg(each.points.back().x(), 0, 'g', 6);
    return ends.join(QStringLiteral("; "));
}

void PlotFigure::fitRange() {
    double least = std::numeric_limits<double>::max(), most = 0;
    for (const Line& each : lines)
        for (const QPointF& point : each.points) {
            least = std::min(least, point.y());
            most = std::max(most, point.y());
        }
    if (lines.empty()) return;
    minimum = 0;
    maximum = most > 0 ? most * 1.05 : 1;
    if (!isLogarithmic) return;
    const double lowest = std::floor(std::log10(std::max(least, kLeast)));
    minimum = std::pow(10, lowest);
    maximum = std::pow(10, std::max(std::ceil(std::log10(std::max(most, kLeast))), lowest + 1));
}

QString PlotFigure::csv() const {
    QString text = QStringLiteral("line,place,value\n");
    for (const Line& each : lines)
        for (const QPointF& point : each.points)
            text += QStringLiteral("%1,%2,%3\n")
                        .arg(csvText(each.label), QString::number(point.x()), QString::number(point.y(), 'g', 9));
    return text;
}

std::vector<NumberArray> PlotFigure::numbers() const {
    std::vector<NumberArray> arrays;
    for (const Line& each : lines) {
        NumberArray array{.name = each.label.toStdString(), .shape = {std::ssize(each.points), 2}, .values = {}};
        for (const QPointF& point : each.points)
            array.values.insert(array.values.end(), {static_cast<float>(point.x()), static_cast<float>(point.y())});
        arrays.push_back(std::move(array));
    }
    return arrays;
}

} // namespace attn
