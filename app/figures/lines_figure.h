#pragma once

#include "app/figures/figure.h"

#include <QCoreApplication>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace attn {

/// Numbers at integer places (rows, distances, features), drawn as lines, or a single line as bars.
struct LinesFigure : Figure {
    struct Line {
        QString label;
        std::vector<float> values; ///< NaN: a gap
    };

    QString title, note; ///< the title above and a remark below
    QString placeTitle;  ///< title of the horizontal axis
    int firstPlace = 0;
    std::vector<QString> placeNames; ///< names of the places, if numbers do not suffice
    std::vector<Line> lines;
    bool isBars = false;
    std::optional<std::pair<double, double>> range; ///< of the axis; none: the range of the numbers, with zero
    /// The first place beyond the trained length. The background changes there.
    std::optional<int> beyond;
    std::optional<int> hovered; ///< an index into the values

    bool isEmpty() const;
    int places() const; ///< number of places of the longest line
    QString placeText(int index) const;

    struct Layout {
        QRectF title, note, plot;
        enum class Names { None, Flat, Upright };
        Names names = Names::None;  ///< the form of the names that fits below the plot
        double upright = 0;         ///< their height if they are upright
        double first = 0, step = 1; ///< x of the first place, and the distance between places, in pixels
        double x(int index) const { return first + index * step; }
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    std::optional<int> indexAt(const QPointF& point, const Layout& layout) const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// Columns: place, then one for each line.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<LinesFigure>(*this); }

private:
    std::pair<double, double> ends() const;
    void paintLines(QPainter& painter, const Layout& at, const FigureTheme& theme) const;
    void paintPlaces(QPainter& painter, const Layout& at, const FigureTheme& theme) const;

    Q_DECLARE_TR_FUNCTIONS(attn::LinesFigure)
};

} // namespace attn
