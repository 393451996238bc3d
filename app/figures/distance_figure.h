#pragma once

#include "app/figures/pointed_figure.h"

#include <QCoreApplication>

#include <memory>
#include <vector>

namespace attn {

/// The mean attention distance of every head: one dot per head, layers from left to right, and a line through the mean
/// of each layer. Items number the heads of layer 0 first, then those of layer 1, and so on.
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929, figure 7 right
struct DistanceFigure : PointedFigure {
    QString title, note;
    int heads = 0;
    double farthest = 1;                       ///< top of the axis in pixels: the picture's diagonal
    double lowest = 0;                         ///< bottom of the axis in pixels; negative for differences
    std::vector<std::vector<float>> distances; ///< for each layer: [heads] in pixels; NaN: no distance

    int layers() const { return static_cast<int>(distances.size()); }
    int itemOf(int layer, int head) const { return layer * heads + head; }
    std::pair<int, int> headOf(int item) const { return {item / heads, item % heads}; }

    QRectF plot(const QRectF& area, const FigureTheme& theme) const;
    bool has(int item) const; ///< whether this head exists in its layer
    /// The position of a dot. A NaN distance is drawn at the bottom.
    QPointF dot(int item, const QRectF& plot) const;

    int items() const override { return layers() * heads; }
    std::optional<int> itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const override;
    int moved(int item, int right, int down) const override;
    QString reading(int item) const override;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// Columns: layer,head,pixels.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return items() > 0; }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<DistanceFigure>(*this); }

private:
    double shareOf(double distance) const; ///< of the height of the axis, from its bottom

    Q_DECLARE_TR_FUNCTIONS(attn::DistanceFigure)
};

} // namespace attn
