#pragma once

#include "app/figures/figure.h"

#include "engine/inference/weight_view.h"

#include <QCoreApplication>
#include <QPointF>

#include <memory>
#include <optional>

namespace attn {

/// The heatmap of one parameter, symmetric about zero, with the histogram of its values.
struct WeightFigure : Figure {
    std::shared_ptr<const WeightView> weight;

    /// The area of the heatmap.
    QRectF plotRect(const QRectF& area, const FigureTheme& theme) const;
    struct Element {
        int row = 0, column = 0; ///< in the pooled matrix
        float value = 0;
    };
    std::optional<Element> elementAt(const QPointF& point, const QRectF& area, const FigureTheme& theme) const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// The pooled matrix, without headers.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<WeightFigure>(*this); }

private:
    bool isEmpty() const;
    float largest() const;
    bool liesBeside(const QRectF& area) const;
    QRectF histogramRect(const QRectF& area, const FigureTheme& theme) const;
    void paintHistogram(QPainter& painter, const QRectF& rect, const FigureTheme& theme) const;

    Q_DECLARE_TR_FUNCTIONS(attn::WeightFigure)
};

} // namespace attn
