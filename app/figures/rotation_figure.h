#pragma once

#include "app/figures/figure.h"

#include <optional>
#include <vector>

namespace attn {

/// Where a vector goes in planes of two features as its place grows: a circle for each plane, a point for each place.
struct RotationFigure : Figure {
    struct Plane {
        QString label;
        std::vector<float> x, y; ///< of each place
    };

    QString title, note;
    std::vector<Plane> planes;
    std::optional<int> beyond; ///< the first place beyond what was trained: hollow points

    bool isEmpty() const { return planes.empty(); }

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// plane,place,x,y
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    void paintPlane(QPainter& painter, const QRectF& area, const Plane& plane, const FigureTheme& theme) const;
};

} // namespace attn
