#include "app/figures/distance_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/head_label.h"
#include "app/figures/spacing.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace attn {
QRectF DistanceFigure::plot(const QRectF& area, const FigureTheme& theme) const {
    const double gap = spacing::kGap, line = smallLine(theme);
    const double left = textWidth(formatNumber(lowest < 0 ? lowest : farthest, 0), theme.smallFont()) + 3 * gap;
    const double top = 2 * gap + std::round(theme.lineHeight()) + (note.isEmpty() ? 0 : line);
    return QRectF(area.left() + left, area.top() + top, std::max(8.0, area.width() - left - 2 * gap),
                  std::max(8.0, area.height() - top - 2 * line - 2 * gap));
}

double DistanceFigure::shareOf(double distance) const {
    return std::clamp((distance - lowest) / (farthest - lowest), 0.0, 1.0);
}

bool DistanceFigure::has(int item) const {
    const auto [layer, head] = headOf(item);
    return static_cast<size_t>(head) < distances[static_cast<size_t>(layer)].size();
}

QPointF DistanceFigure::dot(int item, const QRectF& plot) const {
    const auto [layer, head] = headOf(item);
    const float distance = distances[static_cast<size_t>(layer)][static_cast<size_t>(head)];
    const double share = std::isfinite(distance) ? shareOf(static_cast<double>(distance)) : 0;
    return {plot.left() + plot.width() * (layer + 0.5) / layers(), plot.bottom() - plot.height() * share};
}

std::optional<int> DistanceFigure::itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const {
    constexpr double kReach = 10; // pixels
    const QRectF at = plot(area, theme);
    std::optional<int> nearest;
    double best = kReach;
    for (int item = 0; item < items(); ++item) {
        if (!has(item)) continue;
        const QPointF away = dot(item, at) - point;
        const double distance = std::hypot(away.x(), away.y());
        if (distance >= best) continue;
        best = distance;
        nearest = item;
    }
    return nearest;
}

int DistanceFigure::moved(int item, int right, int down) const {
    const auto [layer, head] = headOf(item);
    if (right != 0) {
        const int next = std::clamp(layer + right, 0, layers() - 1);
        const auto most = static_cast<int>(distances[static_cast<size_t>(next)].size());
        return most == 0 ? item : itemOf(next, std::min(head, most - 1));
    }
    // Up and down move in the order of distances, as the dots are drawn.
    const std::vector<float>& all = distances[static_cast<size_t>(layer)];
    std::vector<int> order(all.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::ranges::stable_sort(order, std::greater<>(), [&](int at) {
        const float distance = all[static_cast<size_t>(at)];
        return std::isfinite(distance) ? distance : -1.0f;
    });
    const auto place = static_cast<int>(std::ranges::find(order, head) - order.begin());
    return itemOf(layer, order[static_cast<size_t>(std::clamp(place + down, 0, static_cast<int>(all.size()) - 1))]);
}

QString DistanceFigure::reading(int item) const {
    if (!has(item)) return {}; // this layer has fewer heads
    const auto [layer, head] = headOf(item);
    const float distance = distances[static_cast<size_t>(layer)][static_cast<size_t>(head)];
    return std::isfinite(distance)
               ? tr("%1: %2 pixels").arg(headLabel(layer, head), formatNumber(static_cast<double>(distance), 1))
               : tr("%1: looks at no patch").arg(headLabel(layer, head));
}

void DistanceFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (items() == 0) return drawMessage(painter, area, note, theme);
    const FigurePage page(painter, area, theme);
    const QRectF at = plot(area, theme);
    const double gap = spacing::kGap, line = smallLine(theme);
    const QRectF text(area.left() + gap, area.top() + gap, area.width() - 2 * gap, std::round(theme.lineHeight()));
    drawLine(painter, text, kAtLeft, title, theme.titleFont(), theme.text);
    if (!note.isEmpty())
        drawLine(painter, {text.left(), text.bottom(), text.width(), line}, kAtLeft, note, theme.smallFont(),
                 theme.faint);
    for (int part = 0; part <= 4; ++part) {
        const double y = at.bottom() - at.height() * part / 4;
        painter.setPen(QPen(theme.line, 1));
        painter.drawLine(QPointF(at.left(), y), QPointF(at.right(), y));
        drawLine(painter, {area.left(), y - line / 2, at.left() - gap - area.left(), line}, kAtRight,
                 formatNumber(lowest + (farthest - lowest) * part / 4, 0), theme.smallFont(), theme.faint);
    }
    const double step = at.width() / layers();
    const int every =
        std::max(1, static_cast<int>(std::ceil(textWidth(QStringLiteral("00"), theme.smallFont()) / step)));
    QPolygonF means;
    for (int layer = 0; layer < layers(); ++layer) {
        double sum = 0;
        int count = 0;
        for (const float distance : distances[static_cast<size_t>(layer)])
            if (std::isfinite(distance)) sum += static_cast<double>(distance), ++count;
        const double x = at.left() + step * (layer + 0.5);
        if (count > 0) means << QPointF(x, at.bottom() - at.height() * shareOf(sum / count));
        if (layer % every == 0)
            drawLine(painter, {x - step * every / 2, at.bottom() + 2, step * every, line}, Qt::AlignCenter,
                     QString::number(layer), theme.smallFont(), theme.faint);
    }
    drawLine(painter, {at.left(), at.bottom() + 2 + line, at.width(), line}, Qt::AlignCenter,
             tr("layer; the line is the mean over its heads"), theme.smallFont(), theme.faint);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.faint, theme.size > 14 ? 2 : 1));
    painter.drawPolyline(means);
    const double radius = theme.size > 14 ? 5 : 3.5;
    for (int item = 0; item < items(); ++item) {
        const auto [layer, head] = headOf(item);
        if (!has(item) || !std::isfinite(distances[static_cast<size_t>(layer)][static_cast<size_t>(head)])) continue;
        painter.setPen(QPen(theme.background, 1));
        painter.setBrush(seriesColour(static_cast<size_t>(head)));
        painter.drawEllipse(dot(item, at), radius, radius);
    }
    painter.setBrush(Qt::NoBrush);
    for (const auto& [item, colour] : {std::pair(chosen, theme.text), std::pair(hovered, theme.accent)}) {
        if (!item || *item >= items() || !has(*item)) continue;
        painter.setPen(QPen(colour, 2));
        painter.drawEllipse(dot(*item, at), radius + 2.5, radius + 2.5);
    }
}

QString DistanceFigure::csv() const {
    if (items() == 0) return {};
    QString text = QStringLiteral("layer,head,pixels\r\n");
    for (int item = 0; item < items(); ++item) {
        const auto [layer, head] = headOf(item);
        text += QStringLiteral("%1,%2,").arg(layer).arg(head) +
                csvNumber(distances[static_cast<size_t>(layer)][static_cast<size_t>(head)]) + QStringLiteral("\r\n");
    }
    return text;
}

std::vector<NumberArray> DistanceFigure::numbers() const {
    if (items() == 0) return {};
    NumberArray all{.name = "attention_distance", .shape = {layers(), heads}, .values = {}};
    for (const std::vector<float>& layer : distances) all.values.insert(all.values.end(), layer.begin(), layer.end());
    return {all};
}

} // namespace attn
