#pragma once

#include "app/figures/figure.h"

#include <optional>
#include <utility>
#include <vector>

namespace attn {

/// Numbers along whole places - rows, distances, features - as lines, or as bars where there is one line.
struct LinesFigure : Figure {
    struct Line {
        QString label;
        std::vector<float> values; ///< NaN: a gap
    };

    QString title, note; ///< what it is; a remark below
    QString placeTitle;  ///< what the places count
    int firstPlace = 0;
    std::vector<QString> placeNames; ///< of the places, where a number does not say it
    std::vector<Line> lines;
    bool isBars = false;
    std::optional<std::pair<double, double>> range; ///< of the axis; none: that of the numbers, and zero
    /// The first place beyond what was trained: the background tells.
    std::optional<int> beyond;
    std::optional<int> hovered; ///< an index into the values

    bool isEmpty() const;
    int places() const; ///< of the longest line
    QString placeText(int index) const;

    struct Layout {
        QRectF title, note, plot;
        double first = 0, step = 1; ///< of the places, in pixels
        double x(int index) const { return first + index * step; }
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    std::optional<int> indexAt(const QPointF& point, const Layout& layout) const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// place, then a column for each line.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    std::pair<double, double> ends() const;
    void paintLines(QPainter& painter, const Layout& at, const FigureTheme& theme) const;
};

} // namespace attn
