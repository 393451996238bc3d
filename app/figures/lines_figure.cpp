#include "app/figures/lines_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr size_t kMostNamed = 12; ///< lines with a label of their own

/// The marks on the axis of values, as many as fit the height.
std::vector<double> marksOf(const std::pair<double, double>& ends, double height, const FigureTheme& theme) {
    return roundMarks(ends.first, ends.second, std::clamp(static_cast<int>(height / (2.5 * theme.size)), 2, 6));
}

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
    const double gap = spacing::kTight, line = smallLine(theme);
    const double titleHeight = title.isEmpty() ? 0 : std::round(theme.lineHeight());
    const double noteHeight = note.isEmpty() ? 0 : line;
    const double width = area.width() - 2 * gap;
    result.title = QRectF(area.left() + gap, area.top() + gap, width, titleHeight);
    result.note = QRectF(area.left() + gap, area.top() + gap + titleHeight, width, noteHeight);
    const std::vector<double> marks = marksOf(ends(), area.height(), theme);
    double numberWidth = 0;
    for (const double mark : marks)
        numberWidth = std::max(numberWidth, textWidth(markText(mark, marks), theme.smallFont()));
    double names = 0;
    if (lines.size() > 1)
        for (const Line& each : lines)
            names = std::max(names, textWidth(each.label, theme.smallFont()) + 3 * gap + theme.size);
    const double left = area.left() + 2 * gap + numberWidth,
                 top = area.top() + 2 * gap + titleHeight + noteHeight + (beyond ? line : 0);
    result.plot = QRectF(left, top, std::max(8.0, area.right() - gap - std::min(names, width / 3) - left),
                         std::max(8.0, area.bottom() - gap - line - top));
    const int count = std::max(1, places());
    double widest = 0;
    for (const QString& name : placeNames) widest = std::max(widest, textWidth(name, theme.smallFont()) + gap);
    if (!placeNames.empty() && widest <= result.plot.width() / count) {
        result.names = Layout::Names::Flat;
    } else if (!placeNames.empty() && area.height() > 9 * theme.size) {
        result.names = Layout::Names::Upright;
        result.upright = std::min(widest, 0.3 * area.height());
    }
    result.plot.setBottom(result.plot.bottom() - result.upright);
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
        const QString text = tr("beyond the trained length"); // above the plot, where no line crosses it
        const double above = smallLine(theme);
        drawLine(painter, {area.left(), at.plot.top() - above, at.plot.right() - area.left(), above}, kAtRight,
                 textWidth(text, theme.smallFont()) <= at.plot.width() ? text : tr("beyond"), theme.smallFont(),
                 theme.faint);
    }
    const double line = smallLine(theme), gap = spacing::kTight;
    const std::vector<double> marks = marksOf({low, high}, area.height(), theme);
    for (const double mark : marks) {
        painter.setPen(QPen(theme.line, 1));
        painter.drawLine(QPointF(at.plot.left(), y(mark)), QPointF(at.plot.right(), y(mark)));
        drawLine(painter, {area.left(), y(mark) - line / 2, at.plot.left() - gap - area.left(), line}, kAtRight,
                 markText(mark, marks), theme.smallFont(), theme.faint);
    }
    paintLines(painter, at, theme);
    paintPlaces(painter, at, theme);
}

void LinesFigure::paintPlaces(QPainter& painter, const Layout& at, const FigureTheme& theme) const {
    const double line = smallLine(theme), below = at.plot.bottom() + 1;
    const QFont font = theme.smallFont();
    const auto count = std::min(static_cast<size_t>(places()), placeNames.size());
    const auto x = [&](size_t place) { return at.x(static_cast<int>(place)); };
    if (at.names == Layout::Names::None)
        return drawLine(painter, {at.plot.left(), below, at.plot.width(), line}, kAtLeft,
                        QStringLiteral("%1 %2–%3 →")
                            .arg(placeTitle, QString::number(firstPlace), QString::number(firstPlace + places() - 1)),
                        font, theme.faint);
    if (at.names == Layout::Names::Upright) { // every n-th that fits
        const auto every = static_cast<size_t>(std::max(1.0, std::ceil(0.8 * line / at.step)));
        for (size_t place = 0; place < count; place += every)
            drawUpwards(painter, {x(place) - line / 2, below, line, at.upright - 3}, kAtRight, placeNames[place], font,
                        theme.faint);
        drawLine(painter, {at.plot.left(), below + at.upright, at.plot.width(), line}, kAtLeft,
                 placeTitle + QStringLiteral(" →"), font, theme.faint);
        return;
    }
    for (size_t place = 0; place < count; ++place)
        drawLine(painter, {x(place) - at.step / 2, below, at.step, line}, Qt::AlignCenter, placeNames[place], font,
                 theme.faint);
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
    // Names are written at the right, from the top, each after a sample of its line.
    const double line = smallLine(theme), gap = spacing::kTight, left = at.plot.right() + gap;
    const size_t fitting = std::min(kMostNamed, static_cast<size_t>(std::max(1.0, at.plot.height() / line)));
    for (size_t i = 0; i < std::min(fitting, lines.size()); ++i) {
        const double top = at.plot.top() + static_cast<double>(i) * line;
        painter.fillRect(QRectF(left, top + line / 2 - 1, theme.size, 3), seriesColour(i));
        drawLine(painter, {left + theme.size + gap, top, 20 * theme.size, line}, kAtLeft, lines[i].label,
                 theme.smallFont(), theme.text);
    }
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
