#pragma once

#include "app/figures/figure.h"

#include <vector>

namespace attn {

/// A number against the length of a sequence, a line for each of several models; lengths double from mark to mark.
struct LengthFigure : Figure {
    struct Line {
        QString label;
        std::vector<double> values; ///< one for each length, or for the first of them
    };
    QString title, valueTitle;
    QString note{}; ///< in the place of lines, where there are none
    std::vector<int> lengths;
    int trainedLength = 0; ///< marked by a line; 0: none
    std::vector<Line> lines;
    double minimum = 0, maximum = 1; ///< of the axis; what lies beyond is drawn at its edge
    bool isLogarithmic = false;      ///< the axis in powers of ten: minimum above 0
    /// Sets the axis to what the lines need: whole powers of ten if it is logarithmic.
    void fitRange();

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// model,length,value
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
};

} // namespace attn
