#include "app/figures/weight_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QImage>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

QString shapeText(const std::vector<int64_t>& shape) {
    QStringList sizes;
    for (int64_t size : shape) sizes << QString::number(size);
    return sizes.join(QStringLiteral(" × "));
}

double header(const FigureTheme& theme) { return 2.6 * theme.lineHeight() + spacing::kGap; }

} // namespace

bool WeightFigure::isEmpty() const {
    return !weight || weight->rows <= 0 || weight->columns <= 0 || weight->values.empty();
}

/// The end of the colour scale on both sides of zero: the largest magnitude of the pooled values, which are shown.
float WeightFigure::largest() const {
    float result = 0;
    for (float value : weight->values)
        if (std::isfinite(value)) result = std::max(result, std::abs(value));
    return result;
}

bool WeightFigure::liesBeside(const QRectF& area) const { return area.width() > 1.3 * area.height(); }

QRectF WeightFigure::plotRect(const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return {};
    const double margin = spacing::kGap, barSpace = 6 * theme.size;
    QRectF room = area.adjusted(margin, header(theme), -margin - barSpace, -margin);
    if (liesBeside(area))
        room.setWidth(room.width() - 15 * theme.size);
    else
        room.setHeight(room.height() - 9 * theme.size);
    if (room.width() < 20 || room.height() < 20) return {};
    // Square elements, unless the plot would be a sliver: a bias of 1 x 64 becomes a band.
    const double element = std::min(room.width() / weight->columns, room.height() / weight->rows);
    const double width = std::max(element * weight->columns, std::min(room.width(), 3 * theme.size));
    const double height = std::max(element * weight->rows, std::min(room.height(), 3 * theme.size));
    return {std::round(room.left()), std::round(room.top()), std::round(width), std::round(height)};
}

QRectF WeightFigure::histogramRect(const QRectF& area, const FigureTheme& theme) const {
    const double margin = spacing::kGap;
    if (liesBeside(area))
        return {area.right() - margin - 14 * theme.size, area.top() + header(theme), 14 * theme.size,
                std::min(10 * theme.size, area.height() - header(theme) - 2 * theme.size)};
    return {area.left() + margin, plotRect(area, theme).bottom() + 1.5 * theme.size,
            std::min(area.width() - 2 * margin, 32 * theme.size), 8 * theme.size};
}

std::optional<WeightFigure::Element> WeightFigure::elementAt(const QPointF& point, const QRectF& area,
                                                             const FigureTheme& theme) const {
    const QRectF plot = plotRect(area, theme);
    if (plot.isNull() || !plot.contains(point)) return {};
    const int row =
        std::min(weight->rows - 1, static_cast<int>((point.y() - plot.top()) / plot.height() * weight->rows));
    const int column =
        std::min(weight->columns - 1, static_cast<int>((point.x() - plot.left()) / plot.width() * weight->columns));
    return Element{
        row, column,
        weight->values[static_cast<size_t>(row) * static_cast<size_t>(weight->columns) + static_cast<size_t>(column)]};
}

void WeightFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return drawMessage(painter, area, tr("Choose a parameter to see its values."), theme);
    const FigurePage page(painter, area, theme);
    const double margin = spacing::kGap, width = area.width() - 2 * margin;
    drawLine(painter, {area.left() + margin, area.top() + spacing::kTight, width, theme.lineHeight() * 1.25}, kAtLeft,
             QString::fromStdString(weight->name), theme.titleFont(), theme.text);
    const QString facts = tr("%1    mean %2    deviation %3    from %4 to %5")
                              .arg(shapeText(weight->shape), formatMeasured(static_cast<double>(weight->mean), 4),
                                   formatMeasured(static_cast<double>(weight->standardDeviation), 4),
                                   formatMeasured(static_cast<double>(weight->minimum), 4),
                                   formatMeasured(static_cast<double>(weight->maximum), 4));
    drawLine(
        painter,
        {area.left() + margin, area.top() + spacing::kTight + theme.lineHeight() * 1.25, width, theme.lineHeight()},
        kAtLeft, facts, theme.smallFont(), theme.faint);

    const QRectF plot = plotRect(area, theme);
    if (!plot.isNull()) {
        const ColourMap& map = ColourMap::of(ColourMapId::Diverging);
        const float end = largest();
        QImage image(weight->columns, weight->rows, QImage::Format_ARGB32_Premultiplied);
        size_t at = 0;
        for (int row = 0; row < weight->rows; ++row) {
            auto* pixels = reinterpret_cast<QRgb*>(image.scanLine(row));
            for (int column = 0; column < weight->columns; ++column) {
                const float value = weight->values[at++];
                pixels[column] =
                    std::isnan(value) ? QColor(theme.accent).rgb() : map.at(end > 0 ? 0.5f + 0.5f * value / end : 0.5f);
            }
        }
        painter.setRenderHint(QPainter::SmoothPixmapTransform,
                              image.width() > plot.width() || image.height() > plot.height());
        painter.drawImage(plot, image);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme.line, 1));
        painter.drawRect(plot.adjusted(-0.5, -0.5, 0.5, 0.5));
        const QRectF bar(
            plot.right() + theme.size, plot.top(), std::round(theme.size * 0.9),
            std::clamp(plot.height(), std::min(5 * theme.size, area.bottom() - plot.top() - margin), 20 * theme.size));
        const QString limit = QString::number(static_cast<double>(end), 'g', 2);
        drawColourBar(painter, bar, map, {{0, QStringLiteral("−") + limit}, {0.5, QStringLiteral("0")}, {1, limit}},
                      theme);
    }
    paintHistogram(painter, histogramRect(area, theme), theme);
}

void WeightFigure::paintHistogram(QPainter& painter, const QRectF& rect, const FigureTheme& theme) const {
    if (weight->histogram.empty() || rect.height() < 3 * theme.size) return;
    const double labels = theme.lineHeight();
    const QRectF plot = rect.adjusted(0, 0, 0, -labels);
    painter.fillRect(plot, theme.plot);
    const int most = std::max(1, *std::max_element(weight->histogram.begin(), weight->histogram.end()));
    const double bins = static_cast<double>(weight->histogram.size());
    for (size_t i = 0; i < weight->histogram.size(); ++i) {
        const double height = plot.height() * weight->histogram[i] / most,
                     left = plot.left() + plot.width() * static_cast<double>(i) / bins;
        painter.fillRect(QRectF(left, plot.bottom() - height, plot.width() / bins, height), theme.value);
    }
    const double span = static_cast<double>(weight->maximum) - static_cast<double>(weight->minimum);
    if (weight->minimum < 0 && weight->maximum > 0) {
        const double zero = plot.left() + plot.width() * -static_cast<double>(weight->minimum) / span;
        painter.setPen(QPen(theme.text, 1, Qt::DotLine));
        painter.drawLine(QPointF(zero, plot.top()), QPointF(zero, plot.bottom()));
    }
    const QRectF under(rect.left(), plot.bottom(), rect.width(), labels);
    drawLine(painter, under, kAtLeft, formatMeasured(static_cast<double>(weight->minimum), 3), theme.smallFont(),
             theme.faint);
    drawLine(painter, under, kAtRight, formatMeasured(static_cast<double>(weight->maximum), 3), theme.smallFont(),
             theme.faint);
}

QString WeightFigure::csv() const {
    if (isEmpty()) return {};
    QString text;
    size_t at = 0;
    for (int row = 0; row < weight->rows; ++row)
        for (int column = 0; column < weight->columns; ++column)
            text += csvNumber(weight->values[at++]) +
                    (column + 1 < weight->columns ? QStringLiteral(",") : QStringLiteral("\r\n"));
    return text;
}

std::vector<NumberArray> WeightFigure::numbers() const {
    if (isEmpty()) return {};
    return {{"weight", {weight->rows, weight->columns}, weight->values}};
}

} // namespace attn
