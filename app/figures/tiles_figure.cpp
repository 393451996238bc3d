#include "app/figures/tiles_figure.h"

#include "app/figures/drawing.h"
#include "app/figures/spacing.h"

#include <QFontMetricsF>

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr double kTileGap = 2; ///< between tiles, in pixels

} // namespace

TilesFigure::Layout TilesFigure::layout(const QRectF& area, const FigureTheme& theme) const {
    Layout at;
    const double gap = spacing::kGap, line = std::ceil(QFontMetricsF(theme.smallFont()).height());
    at.title = {area.left() + gap, area.top() + gap, area.width() - 2 * gap, std::round(theme.lineHeight())};
    at.note = {at.title.left(), at.title.bottom(), at.title.width(), note.isEmpty() ? 0 : line};
    const double barSpace = range ? 4.5 * theme.size : 0;
    const QRectF room(area.left() + gap, at.note.bottom() + gap, std::max(8.0, area.width() - 2 * gap - barSpace),
                      std::max(8.0, area.bottom() - gap - at.note.bottom() - gap));
    if (tiles.empty()) return at;
    const QSizeF size = tiles.front().size();
    const auto scaleFor = [&](int across) {
        const int down = (items() + across - 1) / across;
        return std::min((room.width() / across - kTileGap) / size.width(),
                        (room.height() / down - kTileGap) / size.height());
    };
    at.columns = columns > 0 ? columns : 1;
    if (columns == 0)
        for (int across = 2; across <= items(); ++across)
            if (scaleFor(across) > scaleFor(at.columns)) at.columns = across;
    const double scale = std::max(scaleFor(at.columns), 0.5 / std::max(size.width(), size.height()));
    at.first = {room.topLeft(), size * scale};
    at.stepX = at.first.width() + kTileGap;
    at.stepY = at.first.height() + kTileGap;
    if (range) {
        const int down = (items() + at.columns - 1) / at.columns;
        at.bar = {at.first.left() + at.columns * at.stepX + gap, at.first.top() + line / 2,
                  std::round(theme.size * 0.8), std::max(1.0, down * at.stepY - kTileGap - line)};
    }
    return at;
}

std::optional<int> TilesFigure::itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const {
    if (tiles.empty()) return {};
    const Layout at = layout(area, theme);
    const QPointF from = point - at.first.topLeft();
    if (from.x() < 0 || from.y() < 0) return {};
    const int column = static_cast<int>(from.x() / at.stepX), row = static_cast<int>(from.y() / at.stepY);
    const int item = row * at.columns + column;
    return column < at.columns && item < items() ? std::optional(item) : std::nullopt;
}

int TilesFigure::moved(int item, int right, int down) const {
    const int row = item / lastColumns_ + down, column = item % lastColumns_ + right;
    const int next = row * lastColumns_ + column;
    return row >= 0 && column >= 0 && column < lastColumns_ && next < items() ? next : item;
}

void TilesFigure::paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const {
    if (tiles.empty()) return drawMessage(painter, area, emptyText, theme);
    const FigurePage page(painter, area, theme);
    const Layout at = layout(area, theme);
    lastColumns_ = at.columns;
    drawLine(painter, at.title, kAtLeft, title, theme.titleFont(), theme.text);
    drawLine(painter, at.note, kAtLeft, note, theme.smallFont(), theme.faint);
    for (int item = 0; item < items(); ++item) {
        const QImage& tile = tiles[static_cast<size_t>(item)];
        const QRectF rect = at.tile(item);
        // Enlarge by whole pixels first, because viewers of SVG and PDF blur a small image.
        const int times = std::clamp(static_cast<int>(std::ceil(rect.width() / tile.width())), 1, 16);
        painter.drawImage(rect, tile.scaled(tile.size() * times));
    }
    painter.setBrush(Qt::NoBrush);
    for (const auto& [item, colour] : {std::pair(chosen, theme.query), std::pair(hovered, theme.accent)}) {
        if (!item || *item >= items()) continue;
        painter.setPen(QPen(colour, 2));
        painter.drawRect(at.tile(*item).adjusted(-1, -1, 1, 1));
    }
    if (range) {
        const auto number = [](double value) { return formatNumber(value, 1); };
        drawColourBar(painter, at.bar, ColourMap::of(colours), {{0, number(range->first)}, {1, number(range->second)}},
                      theme);
    }
}

QString TilesFigure::csv() const {
    QString text;
    const size_t each = tiles.empty() ? 0 : data.values.size() / tiles.size();
    for (size_t item = 0; item < tiles.size(); ++item) {
        text += csvText(names[item]);
        for (size_t i = 0; i < each; ++i) text += ',' + csvNumber(data.values[item * each + i]);
        text += QStringLiteral("\r\n");
    }
    return text;
}

std::vector<NumberArray> TilesFigure::numbers() const {
    return tiles.empty() ? std::vector<NumberArray>{} : std::vector{data};
}

QImage tileOf(std::span<const float> values, int channels, int height, int width) {
    const auto [low, high] = std::ranges::minmax(values);
    const auto level = [&, low = low, high = high](size_t at) {
        return high > low ? static_cast<int>(std::lround((values[at] - low) / (high - low) * 255)) : 127;
    };
    QImage image(width, height, QImage::Format_RGB32);
    const auto plane = static_cast<size_t>(height) * static_cast<size_t>(width);
    for (int row = 0; row < height; ++row)
        for (int column = 0; column < width; ++column) {
            const auto at = static_cast<size_t>(row * width + column);
            image.setPixel(column, row,
                           channels == 3 ? qRgb(level(at), level(at + plane), level(at + 2 * plane))
                                         : qRgb(level(at), level(at), level(at)));
        }
    return image;
}

QImage tileOf(std::span<const float> values, int height, int width, const std::pair<double, double>& range,
              ColourMapId colours) {
    QImage image(width, height, QImage::Format_RGB32);
    const ColourMap& map = ColourMap::of(colours);
    for (int row = 0; row < height; ++row)
        for (int column = 0; column < width; ++column) {
            const auto value = static_cast<double>(values[static_cast<size_t>(row * width + column)]);
            image.setPixel(column, row,
                           map.at(static_cast<float>((value - range.first) / (range.second - range.first))));
        }
    return image;
}

} // namespace attn
