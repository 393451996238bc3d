#include "app/figures/length_figure.h"

#include "app/figures/drawing.h"

#include <QObject>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

/// The short form of a length, such as 4k for 4096.
QString lengthText(int length) {
    return length >= 1024 && length % 1024 == 0 ? QStringLiteral("%1k").arg(length / 1024) : QString::number(length);
}

/// A power of ten, written out from 0.01 to 1000, otherwise as 10 with an exponent.
QString powerText(double value) {
    const int exponent = static_cast<int>(std::lround(std::log10(value)));
    if (exponent >= -2 && exponent <= 3) return QString::number(value, 'g', 4);
    static const QString kDigits = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString text = exponent < 0 ? QStringLiteral("10⁻") : QStringLiteral("10");
    for (const QChar digit : QString::number(std::abs(exponent))) text += kDigits[digit.digitValue()];
    return text;
}

} // namespace

void LengthFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    painter.fillRect(area, theme.background);
    painter.setRenderHint(QPainter::Antialiasing);
    const double line = theme.lineHeight();
    const QFontMetricsF metrics(theme.textFont());
    double legend = 0;
    for (const Line& each : lines) legend = std::max(legend, metrics.horizontalAdvance(each.label));
    const QRectF plot = area.adjusted(4 * line, 3.4 * line, -legend - 1.6 * line, -3 * line);
    if (lengths.empty() || plot.width() < line || plot.height() < line) return;

    painter.setFont(theme.titleFont());
    painter.setPen(theme.text);
    painter.drawText(QRectF(area.left() + line, area.top() + 0.4 * line, area.width(), 1.6 * line), Qt::AlignVCenter,
                     title);
    const double first = std::log2(lengths.front()), span = std::max(1.0, std::log2(lengths.back()) - first);
    const auto x = [&](int length) { return plot.left() + (std::log2(length) - first) / span * plot.width(); };
    const auto scaled = [&](double value) { return isLogarithmic ? std::log10(value) : value; };
    const double bottom = scaled(minimum), height = std::max(scaled(maximum) - bottom, 1e-12);
    const auto y = [&](double value) {
        return plot.bottom() - (scaled(std::clamp(value, minimum, maximum)) - bottom) / height * plot.height();
    };

    painter.setFont(theme.smallFont());
    const int steps = isLogarithmic ? std::max(1, static_cast<int>(std::lround(height))) : 5;
    for (int i = 0; i <= steps; ++i) {
        const double share = static_cast<double>(i) / steps;
        const double value =
            isLogarithmic ? std::pow(10, bottom + height * share) : minimum + (maximum - minimum) * share;
        painter.setPen(theme.line);
        painter.drawLine(QPointF(plot.left(), y(value)), QPointF(plot.right(), y(value)));
        painter.setPen(theme.faint);
        painter.drawText(QRectF(area.left(), y(value) - line, plot.left() - area.left() - 0.4 * line, 2 * line),
                         Qt::AlignRight | Qt::AlignVCenter,
                         isLogarithmic ? powerText(value) : QString::number(value, 'f', 2));
    }
    double written = area.left(); // where the last label ended
    for (int length : lengths) {
        const double half = textWidth(lengthText(length), theme.smallFont()) / 2 + 0.2 * line;
        if (x(length) - half < written) continue;
        written = x(length) + half;
        painter.drawText(QRectF(x(length) - half, plot.bottom() + 0.2 * line, 2 * half, line), Qt::AlignCenter,
                         lengthText(length));
    }
    painter.drawText(QRectF(plot.left(), plot.bottom() + 1.4 * line, plot.width(), line), Qt::AlignCenter,
                     QObject::tr("tokens"));
    painter.drawText(QRectF(area.left() + line, area.top() + 1.9 * line, area.width(), line), Qt::AlignVCenter,
                     valueTitle);
    if (trainedLength > 0) {
        painter.setPen(QPen(theme.faint, 1, Qt::DashLine));
        painter.drawLine(QPointF(x(trainedLength), plot.top()), QPointF(x(trainedLength), plot.bottom()));
    }

    if (lines.empty()) drawMessage(painter, plot, note, theme);

    // Labels at the ends of the lines, moved apart so that they do not overlap.
    std::vector<size_t> order(lines.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) { return y(lines[i].values.back()); });
    double previous = plot.top() - line;
    painter.setFont(theme.textFont());
    for (size_t i : order) {
        const Line& each = lines[i];
        painter.setPen(QPen(seriesColour(i), 2));
        QPolygonF points;
        for (size_t at = 0; at < each.values.size(); ++at) points << QPointF(x(lengths[at]), y(each.values[at]));
        painter.drawPolyline(points);
        painter.setBrush(seriesColour(i));
        for (const QPointF& point : points) painter.drawEllipse(point, 2.5, 2.5);
        painter.setBrush(Qt::NoBrush);
        previous = std::max(previous + line, points.back().y());
        painter.drawText(QRectF(plot.right() + 0.6 * line, previous - line, legend + line, 2 * line), Qt::AlignVCenter,
                         each.label);
    }
}

void LengthFigure::fitRange() {
    std::vector<double> all;
    for (const Line& each : lines) all.insert(all.end(), each.values.begin(), each.values.end());
    if (all.empty()) return;
    const auto [least, most] = std::ranges::minmax(all);
    minimum = least;
    maximum = most > least ? most : least + 1;
    if (!isLogarithmic) return;
    const double lowest = std::floor(std::log10(std::max(least, 1e-9)));
    minimum = std::pow(10, lowest);
    maximum = std::pow(10, std::max(std::ceil(std::log10(std::max(most, 1e-9))), lowest + 1));
}

QString LengthFigure::csv() const {
    QString text = "model,length,value\n";
    for (const Line& each : lines)
        for (size_t at = 0; at < each.values.size(); ++at)
            text += QString("\"%1\",%2,%3\n").arg(each.label).arg(lengths[at]).arg(each.values[at], 0, 'g', 9);
    return text;
}

std::vector<NumberArray> LengthFigure::numbers() const {
    NumberArray array{.name = "values",
                      .shape = {static_cast<int64_t>(lines.size()), static_cast<int64_t>(lengths.size())},
                      .values = {}};
    for (const Line& each : lines)
        for (size_t at = 0; at < lengths.size(); ++at)
            array.values.push_back(at < each.values.size() ? static_cast<float>(each.values[at])
                                                           : std::numeric_limits<float>::quiet_NaN());
    return {array};
}

} // namespace attn
