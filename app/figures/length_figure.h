#pragma once

#include "app/figures/figure.h"

#include <memory>
#include <vector>

namespace attn {

/// A number against the sequence length, with one line per model. The length doubles from one mark to the next.
struct LengthFigure : Figure {
    struct Line {
        QString label;
        std::vector<double> values; ///< one per length; may be shorter than the list of lengths
    };
    QString title, valueTitle;
    QString note{}; ///< shown if there are no lines
    std::vector<int> lengths;
    int trainedLength = 0; ///< marked by a vertical line; 0: none
    std::vector<Line> lines;
    double minimum = 0, maximum = 1; ///< ends of the axis; values outside are drawn at its edge
    bool isLogarithmic = false;      ///< the axis shows powers of ten; needs minimum > 0
    /// Fits the axis to the lines. A logarithmic axis ends at whole powers of ten.
    void fitRange();

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// Columns: model,length,value.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !lines.empty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<LengthFigure>(*this); }
};

} // namespace attn
