#include "app/figures/flow_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/head_label.h"
#include "app/figures/spacing.h"

#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace attn {
namespace {

constexpr double kMostStretch = 2.5; ///< of the place of a head, where the line has room

double sizeOf(const FlowFigure::Head& head) { return std::abs(static_cast<double>(head.value)); }

/// Red adds and blue takes, as in every view of differences.
QColor colourOf(const FlowFigure::Head& head) {
    return ColourMap::of(ColourMapId::Diverging).at(head.value < 0 ? 0.1f : 0.9f);
}

} // namespace

double FlowFigure::height(const FigureTheme& theme) {
    return std::round(theme.lineHeight() * 1.5) + smallLine(theme) + 2 * spacing::kTight;
}

FlowFigure::Widths FlowFigure::widths(double width, const FigureTheme& theme) const {
    const auto most = [&](const QString& text, double share) {
        return text.isEmpty() ? 0.0 : std::min(textWidth(text, theme.textFont()), share * width) + spacing::kGap;
    };
    double head = 0;
    for (const Head& each : all) head = std::max(head, textWidth(headColumnLabel(each.head), theme.smallFont()));
    return {most(from, 0.2), most(to, 0.25), head + spacing::kTight};
}

double FlowFigure::labelWidth(int site, const FigureTheme& theme) const {
    return textWidth(siteLabels[static_cast<size_t>(site)], theme.smallFont()) + spacing::kTight + spacing::kGap;
}

void FlowFigure::fit(double width, const FigureTheme& theme) {
    std::vector<size_t> order(all.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater(), [this](size_t at) { return sizeOf(all[at]); });
    std::vector<char> isShown(siteLabels.size());
    std::stable_partition(order.begin(), order.end(), [&](size_t at) { // the strongest of each site comes first
        return std::exchange(isShown[static_cast<size_t>(all[at].site)], 1) == 0;
    });
    const Widths each = widths(width, theme);
    double room = width - each.from - each.to - 2 * spacing::kGap;
    std::vector<size_t> fitting;
    std::ranges::fill(isShown, 0);
    for (const size_t at : order) {
        const auto site = static_cast<size_t>(all[at].site);
        room -= each.head + (isShown[site] ? 0 : labelWidth(all[at].site, theme));
        if (room < 0) break;
        isShown[site] = 1;
        fitting.push_back(at);
    }
    std::ranges::sort(fitting, [this](size_t a, size_t b) {
        return all[a].site != all[b].site ? all[a].site < all[b].site : sizeOf(all[a]) > sizeOf(all[b]);
    });
    heads.clear();
    for (const size_t at : fitting) heads.push_back(all[at]);
}

std::vector<QRectF> FlowFigure::places(const QRectF& area, const FigureTheme& theme) const {
    const Widths each = widths(area.width(), theme);
    const auto begins = [&](size_t i) { return i == 0 || heads[i].site != heads[i - 1].site; };
    double x = area.left() + spacing::kGap + each.from, room = area.width() - each.from - each.to - 3 * spacing::kGap;
    for (size_t i = 0; i < heads.size(); ++i) room -= begins(i) ? labelWidth(heads[i].site, theme) : 0;
    const double width =
        std::clamp(room / std::max<double>(1, static_cast<double>(heads.size())), each.head, kMostStretch * each.head);
    std::vector<QRectF> places;
    for (size_t i = 0; i < heads.size(); ++i) {
        if (begins(i)) x += labelWidth(heads[i].site, theme);
        places.emplace_back(x, area.top() + spacing::kTight, width, area.height() - 2 * spacing::kTight);
        x += width;
    }
    return places;
}

std::optional<int> FlowFigure::itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const {
    const std::vector<QRectF> shown = places(area, theme);
    const auto found = std::ranges::find_if(shown, [&](const QRectF& place) { return place.contains(point); });
    return found == shown.end() ? std::nullopt : std::optional(static_cast<int>(found - shown.begin()));
}

int FlowFigure::moved(int item, int right, int down) const { return std::clamp(item + right + down, 0, items() - 1); }

QString FlowFigure::reading(int item) const {
    const Head& head = heads[static_cast<size_t>(item)];
    return (head.value < 0 ? tr("%1 lowers the %2 by %3.") : tr("%1 raises the %2 by %3."))
        .arg(head.name, target, formatNumber(sizeOf(head), 3));
}

void FlowFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    const FigurePage page(painter, area, theme);
    const double line = smallLine(theme), gap = spacing::kGap;
    if (heads.empty())
        return drawLine(painter, area.adjusted(gap, 0, -gap, 0), kAtLeft, note, theme.textFont(), theme.faint);
    painter.setRenderHint(QPainter::Antialiasing);
    const Widths each = widths(area.width(), theme);
    const std::vector<QRectF> at = places(area, theme);
    const double top = at.front().top(), names = at.front().bottom() - line, end = at.back().right() + gap;
    double up = 0, down = 0; // what the strongest heads add and take
    for (const Head& head : heads) {
        up = std::max(up, static_cast<double>(head.value));
        down = std::max(down, -static_cast<double>(head.value));
    }
    const double unit = up + down > 0 ? (names - top) / (up + down) : 0, base = unit > 0 ? top + up * unit : names;
    drawLine(painter, {area.left() + gap, area.top(), each.from - gap, area.height()}, kAtLeft, from, theme.textFont(),
             theme.query);
    drawLine(painter, {end + gap, area.top(), each.to - gap, area.height()}, kAtLeft, to, theme.textFont(),
             theme.prediction);

    // The residual stream, to which the heads add.
    painter.setPen(QPen(theme.line, 1));
    painter.drawLine(QPointF(area.left() + each.from + gap, base), QPointF(end, base));
    QPainterPath tip({end + theme.size * 0.4, base});
    tip.lineTo(end, base - theme.size * 0.3);
    tip.lineTo(end, base + theme.size * 0.3);
    painter.fillPath(tip, theme.line);

    for (size_t i = 0; i < heads.size(); ++i) {
        const QRectF& place = at[i];
        const int item = static_cast<int>(i);
        if (hovered == item) painter.fillRect(place, theme.plot);
        const double tall = std::max(1.0, unit * sizeOf(heads[i]));
        painter.fillRect(QRectF(place.left() + 2, heads[i].value < 0 ? base : base - tall, place.width() - 4, tall),
                         colourOf(heads[i]));
        const QRectF name(place.left(), names, place.width(), line);
        drawLine(painter, name, Qt::AlignCenter, headColumnLabel(heads[i].head), theme.smallFont(), theme.text);
        if (chosen == item) {
            painter.setPen(QPen(theme.accent, 1.5));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(place.adjusted(0.5, 0.5, -0.5, -0.5));
        }
        if (i > 0 && heads[i].site == heads[i - 1].site) continue;
        const double width = labelWidth(heads[i].site, theme);
        drawLine(painter, {place.left() - width, names, width - spacing::kTight, line}, kAtRight,
                 siteLabels[static_cast<size_t>(heads[i].site)], theme.smallFont(), theme.faint);
    }
}

QString FlowFigure::csv() const {
    if (all.empty()) return {};
    QString text = QStringLiteral("head,contribution\r\n");
    for (const Head& head : all) text += csvText(head.name) + ',' + csvNumber(head.value) + QStringLiteral("\r\n");
    return text;
}

std::vector<NumberArray> FlowFigure::numbers() const {
    if (all.empty()) return {};
    NumberArray array{.name = "contribution", .shape = {static_cast<int64_t>(all.size())}, .values = {}};
    for (const Head& head : all) array.values.push_back(head.value);
    return {array};
}

} // namespace attn
