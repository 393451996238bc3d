#pragma once

#include "app/figures/figure.h"

#include <QCoreApplication>

#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// How a vector rotates in planes of two features when its position grows: one circle per plane, one point per
/// position.
struct RotationFigure : Figure {
    struct Plane {
        QString label;
        std::vector<float> x, y; ///< one per position
    };

    QString title, note;
    std::vector<Plane> planes;
    std::optional<int> beyond; ///< the first position beyond the trained length; points from it on are hollow

    bool isEmpty() const { return planes.empty(); }

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// Columns: plane,place,x,y.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<RotationFigure>(*this); }

private:
    void paintPlane(QPainter& painter, const QRectF& area, const Plane& plane, const FigureTheme& theme) const;

    Q_DECLARE_TR_FUNCTIONS(attn::RotationFigure)
};

} // namespace attn
