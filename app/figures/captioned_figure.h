#pragma once

#include "app/figures/figure.h"

namespace attn {

/// A figure above a caption, as on a sheet of paper.
struct CaptionedFigure : Figure {
    std::shared_ptr<const Figure> figure; ///< not null
    QString caption;                      ///< wraps; empty: the figure alone

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    QSizeF pageSize(const QSizeF& onScreen, const FigureTheme& theme) const override;
    QString csv() const override { return figure->csv(); }
    std::vector<NumberArray> numbers() const override { return figure->numbers(); }
    bool hasNumbers() const override { return figure->hasNumbers(); }
    std::shared_ptr<const Figure> copy() const override;

private:
    double captionHeight(double width, const FigureTheme& theme) const; ///< with its margins
};

} // namespace attn
