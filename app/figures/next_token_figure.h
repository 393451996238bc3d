#pragma once

#include "app/figures/figure.h"

#include <QCoreApplication>

#include <memory>
#include <vector>

namespace attn {

/// The most probable next tokens as bars, each with its probability and logit.
struct NextTokenFigure : Figure {
    struct Bar {
        QString label;
        int token = 0;
        float probability = 0; ///< 0: the sampling excludes the token
        float logit = 0;
    };
    std::vector<Bar> bars; ///< in the order shown
    QString title;
    int hovered = -1;

    QRectF barRow(int index, const QRectF& area, const FigureTheme& theme) const;
    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// Columns: token,id,probability,logit.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !bars.empty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<NextTokenFigure>(*this); }

    Q_DECLARE_TR_FUNCTIONS(attn::NextTokenFigure)
};

} // namespace attn
