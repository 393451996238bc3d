#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/pointed_figure.h"

#include <QImage>

#include <span>
#include <utility>
#include <vector>

namespace attn {

/// Small pictures in a grid, each as large as the room allows, with what they are and the numbers that they show.
struct TilesFigure : PointedFigure {
    QString title, note;
    QString emptyText; ///< what stands there without tiles
    int columns = 0;   ///< of the grid; 0: as suits the room
    std::vector<QImage> tiles;
    std::vector<QString> names;                       ///< one a tile
    NumberArray data;                                 ///< first axis: tiles
    std::optional<std::pair<double, double>> range{}; ///< of the numbers, where all tiles share a colour map
    ColourMapId colours = ColourMapId::Viridis;       ///< that colour map

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
    /// A line a tile: its name, then its numbers.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    mutable int lastColumns_ = 1; ///< as drawn last, for the arrow keys
};

/// Numbers as a picture that goes from its own lowest to its highest: in colours where there are three channels, else
/// in grey. @param values [channels, height, width]
QImage tileOf(std::span<const float> values, int channels, int height, int width);
/// Numbers of a range in the colours of a map. @param values [height, width]
QImage tileOf(std::span<const float> values, int height, int width, const std::pair<double, double>& range,
              ColourMapId colours);

} // namespace attn
