#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/pointed_figure.h"

#include <QImage>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace attn {

/// A grid of small images with their names and numbers. Each is as large as the area allows.
struct TilesFigure : PointedFigure {
    QString title, note;
    QString emptyText; ///< shown if there are no tiles
    int columns = 0;   ///< of the grid; 0: chosen to fit the area
    std::vector<QImage> tiles;
    std::vector<QString> names;                       ///< one per tile
    NumberArray data;                                 ///< first axis: tiles
    std::optional<std::pair<double, double>> range{}; ///< of the numbers, if all tiles share a colour map
    ColourMapId colours = ColourMapId::Viridis;       ///< the colour map for `range`

    struct Layout {
        QRectF title, note, bar; ///< bar: null without a range
        QRectF first;            ///< of tile 0
        double stepX = 1, stepY = 1;
        int columns = 1;
        QRectF tile(int index) const { return first.translated(index % columns * stepX, index / columns * stepY); }
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;

    int items() const override { return static_cast<int>(tiles.size()); }
    std::optional<int> itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const override;
    int moved(int item, int right, int down) const override;
    QString reading(int item) const override { return names[static_cast<size_t>(item)]; }

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// One line per tile: its name, then its numbers.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !tiles.empty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<TilesFigure>(*this); }

private:
    mutable int lastColumns_ = 1; ///< columns of the last drawing, for the arrow keys
};

/// An image of numbers, scaled from their minimum to their maximum. Three channels give colours, otherwise it is grey.
/// @param values [channels, height, width]
QImage tileOf(std::span<const float> values, int channels, int height, int width);
/// An image of numbers in the colours of a map that spans the range.
/// @param values [height, width]
QImage tileOf(std::span<const float> values, int height, int width, const std::pair<double, double>& range,
              ColourMapId colours);

} // namespace attn
