#pragma once

#include "app/figures/figure.h"

#include <vector>

namespace attn {

/// The likeliest next tokens as bars, each with probability and logit.
struct NextTokenFigure : Figure {
    struct Bar {
        QString label;
        int token = 0;
        float probability = 0; ///< 0: the sampling leaves the token out
        float logit = 0;
    };
    std::vector<Bar> bars; ///< in the order shown
    QString title;
    int hovered = -1;

    QRectF barRow(int index, const QRectF& area, const FigureTheme& theme) const;
    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// token,id,probability,logit
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
};

} // namespace attn
