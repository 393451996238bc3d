#include "app/figures/length_figure.h"

#include "app/figures/drawing.h"

#include <QObject>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>

namespace attn {
void LengthFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    painter.fillRect(area, theme.background);
    painter.setRenderHint(QPainter::Antialiasing);
    const double line = theme.lineHeight();
    const QFontMetricsF metrics(theme.textFont());
    double legend = 0;
    for (const Line& each : lines) legend = std::max(legend, metrics.horizontalAdvance(each.label));
    const QRectF plot = area.adjusted(4.5 * line, 2.5 * line, -legend - 3 * line, -3 * line);
    if (lengths.empty() || plot.width() < line || plot.height() < line) return;

    painter.setFont(theme.titleFont());
    painter.setPen(theme.text);
    painter.drawText(QRectF(area.left() + line, area.top() + 0.4 * line, area.width(), 1.6 * line), Qt::AlignVCenter,
                     title);
    const double first = std::log2(lengths.front()), span = std::max(1.0, std::log2(lengths.back()) - first);
    const auto x = [&](int length) { return plot.left() + (std::log2(length) - first) / span * plot.width(); };
    const auto y = [&](double value) {
        return plot.bottom() - (std::clamp(value, minimum, maximum) - minimum) / (maximum - minimum) * plot.height();
    };

    painter.setFont(theme.smallFont());
    constexpr int kSteps = 5;
    for (int i = 0; i <= kSteps; ++i) {
        const double value = minimum + (maximum - minimum) * i / kSteps;
        painter.setPen(theme.line);
        painter.drawLine(QPointF(plot.left(), y(value)), QPointF(plot.right(), y(value)));
        painter.setPen(theme.faint);
        painter.drawText(QRectF(area.left(), y(value) - line, plot.left() - area.left() - 0.4 * line, 2 * line),
                         Qt::AlignRight | Qt::AlignVCenter, QString::number(value, 'f', 2));
    }
    for (int length : lengths)
        painter.drawText(QRectF(x(length) - 3 * line, plot.bottom() + 0.2 * line, 6 * line, line), Qt::AlignCenter,
                         QString::number(length));
    painter.drawText(QRectF(plot.left(), plot.bottom() + 1.4 * line, plot.width(), line), Qt::AlignCenter,
                     QObject::tr("tokens"));
    painter.drawText(QRectF(area.left() + line, plot.top() - 1.3 * line, 20 * line, line), Qt::AlignVCenter,
                     valueTitle);
    if (trainedLength > 0) {
        painter.setPen(QPen(theme.faint, 1, Qt::DashLine));
        painter.drawLine(QPointF(x(trainedLength), plot.top()), QPointF(x(trainedLength), plot.bottom()));
    }

    // Labels at the lines' ends, moved apart where they would overlap.
    std::vector<size_t> order(lines.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) { return y(lines[i].values.back()); });
    double previous = plot.top() - line;
    painter.setFont(theme.textFont());
    for (size_t i : order) {
        const Line& each = lines[i];
        painter.setPen(QPen(seriesColour(i), 2));
        QPolygonF points;
        for (size_t at = 0; at < lengths.size(); ++at) points << QPointF(x(lengths[at]), y(each.values[at]));
        painter.drawPolyline(points);
        painter.setBrush(seriesColour(i));
        for (const QPointF& point : points) painter.drawEllipse(point, 2.5, 2.5);
        painter.setBrush(Qt::NoBrush);
        previous = std::max(previous + line, points.back().y());
        painter.drawText(QRectF(plot.right() + 0.6 * line, previous - line, legend + line, 2 * line), Qt::AlignVCenter,
                         each.label);
    }
}

QString LengthFigure::csv() const {
    QString text = "model,length,value\n";
    for (const Line& each : lines)
        for (size_t at = 0; at < lengths.size(); ++at)
            text += QString("\"%1\",%2,%3\n").arg(each.label).arg(lengths[at]).arg(each.values[at], 0, 'g', 9);
    return text;
}

std::vector<NumberArray> LengthFigure::numbers() const {
    NumberArray array{.name = "values",
                      .shape = {static_cast<int64_t>(lines.size()), static_cast<int64_t>(lengths.size())},
                      .values = {}};
    for (const Line& each : lines)
        for (double value : each.values) array.values.push_back(static_cast<float>(value));
    return {array};
}

} // namespace attn
