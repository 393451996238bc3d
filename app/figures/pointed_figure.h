#pragma once

#include "app/figures/figure.h"

#include <QPointF>

#include <optional>

namespace attn {

/// A figure of items that can be pointed at and chosen, one by one.
struct PointedFigure : Figure {
    std::optional<int> hovered, chosen;

    virtual int items() const = 0;
    virtual std::optional<int> itemAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const = 0;
    /// The item that an arrow key leads to; the same where there is none.
    virtual int moved(int item, int right, int down) const = 0;
    /// What an item is, in words.
    virtual QString reading(int item) const = 0;
};

} // namespace attn
