#pragma once

#include "app/figures/figure.h"

#include <QColor>
#include <QCoreApplication>
#include <QPointF>

#include <memory>
#include <vector>

namespace attn {

/// Numbers against a quantity, one line each: costs against a sequence length that doubles from mark to mark, or
/// metrics of training against the step.
struct PlotFigure : Figure {
    struct Line {
        QString label;                 ///< empty: the line has no name
        std::vector<QPointF> points{}; ///< at least one; x: place, rising; y: finite value
        QColor colour{};               ///< invalid: chosen by the index of the line
        bool isDashed = false;
    };
    QString title, valueTitle, placeTitle;
    QString note{};           ///< shown if there are no lines
    std::vector<int> lengths; ///< marks on an axis that doubles from mark to mark; empty: an even axis from 0
    int marked = 0;           ///< a place with a vertical line, such as the trained length; 0: none
    std::vector<Line> lines;
    double minimum = 0, maximum = 1; ///< ends of the axis of values; values outside are drawn at its edge
    bool isLogarithmic = false;      ///< the axis of values shows powers of ten; needs minimum > 0
    /// Fits the axis of values to the lines. It begins at zero, or at a power of ten if it is logarithmic.
    void fitRange();
    /// The area of the lines, between the axes. @param area of the figure
    QRectF plotArea(const QRectF& area, const FigureTheme& theme) const;
    /// The last value of each line, for screen readers: "run, training: 1.2 at 448".
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
