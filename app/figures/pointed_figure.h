#pragma once

#include "app/figures/figure.h"

#include <QPointF>

#include <optional>

namespace attn {

/// A figure with items that can be pointed at and chosen.
struct PointedFigure : Figure {
    std::optional<int> hovered, chosen;

    virtual int items() const = 0;
    virtual std::optional<int> itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const = 0;
    /// The item to which an arrow key moves, or the same item if there is none.
    virtual int moved(int item, int right, int down) const = 0;
    /// The description of an item.
    virtual QString reading(int item) const = 0;
};

} // namespace attn
