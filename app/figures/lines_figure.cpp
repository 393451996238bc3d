#include "app/figures/lines_figure.h"

#include "app/figures/drawing.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr size_t kMostNamed = 12; ///< lines with a label of their own

int decimalsFor(double end) { return end < 0.095 ? 4 : end < 10 ? 2 : end < 1000 ? 1 : 0; }

} // namespace

bool LinesFigure::isEmpty() const { return places() == 0; }

int LinesFigure::places() const {
    size_t most = 0;
    for (const Line& line : lines) most = std::max(most, line.values.size());
    return static_cast<int>(most);
}

QString LinesFigure::placeText(int index) const {
    const auto at = static_cast<size_t>(index);
    return at < placeNames.size() ? placeNames[at] : QString::number(firstPlace + index);
}

std::pair<double, double> LinesFigure::ends() const {
    if (range) return *range;
    double low = 0, high = 0;
    for (const Line& line : lines)
        for (const float value : line.values) {
            if (!std::isfinite(value)) continue;
            low = std::min(low, static_cast<double>(value));
            high = std::max(high, static_cast<double>(value));
        }
    return low == high ? std::pair(low, low + 1) : std::pair(low, high);
}

LinesFigure::Layout LinesFigure::layout(const QRectF& area, const FigureTheme& theme) const {
    Layout result;
    const double gap = std::round(theme.size * 0.4), line = smallLine(theme);
    const double titleHeight = title.isEmpty() ? 0 : std::round(theme.lineHeight());
    const double noteHeight = note.isEmpty() ? 0 : line;
    const double width = area.width() - 2 * gap;
    result.title = QRectF(area.left() + gap, area.top() + gap, width, titleHeight);
    result.note = QRectF(area.left() + gap, area.top() + gap + titleHeight, width, noteHeight);
    const auto [low, high] = ends();
    const double numberWidth = std::max(textWidth(formatNumber(low, decimalsFor(high - low)), theme.smallFont()),
                                        textWidth(formatNumber(high, decimalsFor(high - low)), theme.smallFont()));
    double names = 0;
    if (lines.size() > 1)
        for (const Line& each : lines) names = std::max(names, textWidth(each.label, theme.smallFont()) + 2 * gap);
    const double left = area.left() + 2 * gap + numberWidth, top = area.top() + 2 * gap + titleHeight + noteHeight;
    result.plot = QRectF(left, top, std::max(8.0, area.right() - gap - std::min(names, width / 3) - left),
                         std::max(8.0, area.bottom() - gap - line - top));
    const int count = std::max(1, places());
    result.step = isBars ? result.plot.width() / count : result.plot.width() / std::max(1, count - 1);
    result.first = result.plot.left() + (isBars ? result.step / 2 : 0);
    return result;
}

std::optional<int> LinesFigure::indexAt(const QPointF& point, const Layout& at) const {
    if (isEmpty() || !at.plot.adjusted(-4, 0, 4, 0).contains(point)) return {};
    return std::clamp(static_cast<int>(std::lround((point.x() - at.first) / at.step)), 0, places() - 1);
}

void LinesFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (isEmpty()) return drawMessage(painter, area, note.isEmpty() ? tr("Nothing to show yet.") : note, theme);
    const FigurePage page(painter, area, theme);
    const Layout at = layout(area, theme);
    drawLine(painter, at.title, kAtLeft, title, theme.titleFont(), theme.text);
    drawLine(painter, at.note, kAtLeft, note, theme.smallFont(), theme.faint);
    const auto [low, high] = ends();
    const auto y = [&, low = low, high = high](double value) {
        return at.plot.bottom() - (std::clamp(value, low, high) - low) / (high - low) * at.plot.height();
    };
    if (beyond) {
        const double from = std::clamp(at.x(*beyond - firstPlace) - at.step / 2, at.plot.left(), at.plot.right());
        painter.fillRect(QRectF(QPointF(from, at.plot.top()), at.plot.bottomRight()), theme.plot);
        drawLine(painter, {from + 3, at.plot.top(), at.plot.right() - from - 3, smallLine(theme)}, kAtLeft,
                 tr("beyond the trained length"), theme.smallFont(), theme.faint);
    }
    const double line = smallLine(theme), gap = std::round(theme.size * 0.4);
    const int decimals = decimalsFor(high - low);
    for (const double value : {low, high, 0.0}) {
        if (value < low || value > high) continue;
        painter.setPen(QPen(theme.line, 1));
        painter.drawLine(QPointF(at.plot.left(), y(value)), QPointF(at.plot.right(), y(value)));
        const bool isCrowded =
            value == 0 && low != 0 && high != 0 && (y(0) > at.plot.bottom() - line || y(0) < at.plot.top() + line);
        if (isCrowded) continue;
        drawLine(painter, {area.left(), y(value) - line / 2, at.plot.left() - gap - area.left(), line}, kAtRight,
                 formatNumber(value, value == 0 ? 0 : decimals), theme.smallFont(), theme.faint);
    }
    paintLines(painter, at, theme);
    double widest = 0;
    for (const QString& name : placeNames) widest = std::max(widest, textWidth(name, theme.smallFont()));
    if (!placeNames.empty() && widest + gap <= at.step)
        for (int place = 0; place < places(); ++place)
            drawLine(painter, {at.x(place) - at.step / 2, at.plot.bottom() + 1, at.step, line}, Qt::AlignCenter,
                     placeText(place), theme.smallFont(), theme.faint);
    else
        drawLine(painter, {at.plot.left(), at.plot.bottom() + 1, at.plot.width(), line}, kAtLeft,
                 QStringLiteral("%1 %2–%3 →").arg(placeTitle).arg(firstPlace).arg(firstPlace + places() - 1),
                 theme.smallFont(), theme.faint);
}

void LinesFigure::paintLines(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    const auto [low, high] = ends();
    const auto y = [&, low = low, high = high](double value) {
        return at.plot.bottom() - (std::clamp(value, low, high) - low) / (high - low) * at.plot.height();
    };
    if (hovered && *hovered < places()) {
        painter.setPen(QPen(theme.accent, 1));
        painter.drawLine(QPointF(at.x(*hovered), at.plot.top()), QPointF(at.x(*hovered), at.plot.bottom()));
    }
    for (size_t i = 0; i < lines.size(); ++i) {
        const QColor colour = seriesColour(i);
        const Line& each = lines[i];
        if (isBars) {
            const double width = std::max(1.0, at.step * 0.8);
            for (size_t place = 0; place < each.values.size(); ++place) {
                if (!std::isfinite(each.values[place])) continue;
                const double top = y(static_cast<double>(each.values[place])), zero = y(0);
                const bool isHovered = hovered && static_cast<size_t>(*hovered) == place;
                painter.fillRect(
                    QRectF(at.x(static_cast<int>(place)) - width / 2, std::min(top, zero), width, std::abs(top - zero)),
                    isHovered ? theme.accent : colour);
            }
            continue;
        }
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(colour, theme.size > 14 ? 2.5 : 1.5));
        QPolygonF points;
        for (size_t place = 0; place <= each.values.size(); ++place) {
            if (place < each.values.size() && std::isfinite(each.values[place])) {
                points << QPointF(at.x(static_cast<int>(place)), y(static_cast<double>(each.values[place])));
                continue;
            }
            painter.drawPolyline(points);
            points.clear();
        }
        painter.setRenderHint(QPainter::Antialiasing, false);
    }
    if (lines.size() < 2) return;
    // Names at the right, from the top, in the colours of their lines.
    const double line = smallLine(theme), gap = std::round(theme.size * 0.4);
    const size_t fitting = std::min(kMostNamed, static_cast<size_t>(std::max(1.0, at.plot.height() / line)));
    for (size_t i = 0; i < std::min(fitting, lines.size()); ++i)
        drawLine(painter, {at.plot.right() + gap, at.plot.top() + static_cast<double>(i) * line, 20 * theme.size, line},
                 kAtLeft, lines[i].label, theme.smallFont(), seriesColour(i));
}

QString LinesFigure::csv() const {
    if (isEmpty()) return {};
    QString text = csvText(placeTitle);
    for (const Line& line : lines) text += ',' + csvText(line.label);
    text += QStringLiteral("\r\n");
    for (int place = 0; place < places(); ++place) {
        text += placeNames.empty() ? placeText(place) : csvText(placeText(place));
        for (const Line& line : lines) {
            text += ',';
            if (static_cast<size_t>(place) < line.values.size())
                text += csvNumber(line.values[static_cast<size_t>(place)]);
        }
        text += QStringLiteral("\r\n");
    }
    return text;
}

std::vector<NumberArray> LinesFigure::numbers() const {
    std::vector<NumberArray> all;
    for (const Line& line : lines)
        all.push_back({.name = (lines.size() == 1 ? title : title + ", " + line.label).toStdString(),
                       .shape = {static_cast<int64_t>(line.values.size())},
                       .values = line.values});
    return all;
}

} // namespace attn
