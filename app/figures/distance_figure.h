#pragma once

#include "app/figures/pointed_figure.h"

#include <vector>

namespace attn {

/// How far every head of every layer looks: a dot for each, layers from left to right, and a line through the layers'
/// means. Items count the heads of layer 0, then those of layer 1 ...
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929, figure 7 right
struct DistanceFigure : PointedFigure {
    QString title, note;
    int heads = 0;
    double farthest = 1;                       ///< top of the axis in pixels: the picture's diagonal
    std::vector<std::vector<float>> distances; ///< of each layer: [its heads] in pixels; NaN: none

    int layers() const { return static_cast<int>(distances.size()); }
    int itemOf(int layer, int head) const { return layer * heads + head; }
    std::pair<int, int> headOf(int item) const { return {item / heads, item % heads}; }

    QRectF plot(const QRectF& area, const FigureTheme& theme) const;
    bool has(int item) const; ///< whether the layer has so many heads
    /// Where a dot stands. NaN stands at the bottom.
    QPointF dot(int item, const QRectF& plot) const;

    int items() const override { return layers() * heads; }
    std::optional<int> itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const override;
    int moved(int item, int right, int down) const override;
    QString reading(int item) const override;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// layer, head, pixels
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
};

} // namespace attn
