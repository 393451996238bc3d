#pragma once

#include "app/figures/figure.h"

#include <QColor>
#include <QCoreApplication>
#include <QPointF>

#include <memory>
#include <vector>

namespace attn {

/// Numbers against a quantity, with one line each: costs against the sequence length, which doubles from one mark to
/// the next, or metrics of training against the step.
struct PlotFigure : Figure {
    struct Line {
        QString label;                 ///< empty: the line is not named
        std::vector<QPointF> points{}; ///< at least one; x: place, in rising order; y: finite value
        QColor colour{};               ///< invalid: chosen by the order of the lines
        bool isDashed = false;
    };
    QString title, valueTitle, placeTitle;
    QString note{}; ///< shown if there are no lines
    std::vector<int>
        lengths;    ///< marks of the axis of places, which then doubles; empty: it runs from 0 to the last place
    int marked = 0; ///< a place with a vertical line, such as the trained length; 0: none
    std::vector<Line> lines;
    double minimum = 0, maximum = 1; ///< ends of the axis of values; values outside are drawn at its edge
    bool isLogarithmic = false;      ///< the axis of values shows powers of ten; needs minimum > 0
    /// Fits the axis of values to the lines. It begins at zero; a logarithmic axis ends at whole powers of ten.
    void fitRange();
    /// The place of the lines, between the axes. @param area of the figure
    QRectF plotArea(const QRectF& area, const FigureTheme& theme) const;
    /// The last value of each line, for readers who cannot see it: "run, training: 1.2 at 448".
    QString summary() const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// Columns: line,place,value.
    QString csv() const override;
    /// One array per line: [points, 2], places and values.
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !lines.empty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<PlotFigure>(*this); }

private:
    struct Axes;
    Axes axes(const QRectF& area, const FigureTheme& theme) const;
    void paintMarks(QPainter& painter, const Axes& at, const QRectF& area, const FigureTheme& theme) const;
    void paintLines(QPainter& painter, const Axes& at, const QRectF& area, const FigureTheme& theme) const;

    Q_DECLARE_TR_FUNCTIONS(attn::PlotFigure)
};

} // namespace attn
