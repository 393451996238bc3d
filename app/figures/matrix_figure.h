#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/figure.h"
#include "app/figures/heatmap_figure.h"

#include <QImage>

#include <optional>
#include <vector>

namespace attn {

/// Any matrix as a heat map: scores, a bias, a mask, weights, an output. The colours tell what the numbers are.
struct MatrixFigure : Figure {
    enum class Kind {
        Signed,  ///< diverging, symmetric about zero
        Weights, ///< unsigned, from zero to the largest
        Cells    ///< 1 where seen, 0 where not
    };

    QString title, note; ///< what it is; a remark below, such as that it is an approximation
    QString rowTitle, columnTitle;
    std::vector<QString> rowLabels, columnLabels; ///< one for each, shown where there is room; empty: numbers alone
    bool labelsAreNumbers = false;                ///< the labels stand for the numbers of rows and columns
    Kind kind = Kind::Signed;
    std::optional<Cell> hovered, selected; ///< query: row, key: column
    std::optional<int> beyondRow;          ///< the first row beyond what was trained: a line above it
    bool hasFocus = false;

    /// @param values [rows, columns]; NaN has no colour
    void setMatrix(int rows, int columns, std::vector<float> values);
    int rows() const { return rows_; }
    int columns() const { return columns_; }
    bool isEmpty() const { return values_.empty(); }
    float valueAt(const Cell& cell) const;
    /// The end of the colours: the largest magnitude; 1 for cells and for a matrix of nothing but zeros.
    float largest() const;
    QColor colourOf(float value, const FigureTheme& theme) const;

    struct Layout {
        QRectF title, note, plot, bar; ///< null where there is no room
        double cellWidth = 1, cellHeight = 1;
        double rowLabels = 0,
               columnLabels = 0; ///< room for the labels beside and above the plot; 0: they are not shown
        QRectF cellRect(const Cell& cell) const;
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    /// "3", or "3 “cat”" where it has a label.
    QString rowName(int row) const;
    QString columnName(int column) const;
    std::optional<Cell> cellAt(const QPointF& point, const Layout& layout) const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// A matrix: first row columns' numbers, first column rows' numbers.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    /// What is the same for all cells.
    struct Palette {
        Kind kind;
        const ColourMap& map;
        float largest;
        QRgb hidden, seen;
        QRgb of(float value) const;
    };
    Palette palette(const FigureTheme& theme) const;
    QImage cells(const FigureTheme& theme) const; ///< a pixel each
    Layout layout(const QRectF& area, const FigureTheme& theme, bool withRowLabels, bool withColumnLabels) const;
    bool isBand() const { return columns_ >= 4 * rows_; } ///< far wider than tall
    void paintAxes(QPainter& painter, const Layout& at, const FigureTheme& theme) const;
    void paintLabels(QPainter& painter, const Layout& at, const FigureTheme& theme) const;

    int rows_ = 0, columns_ = 0;
    float largest_ = 0;
    std::vector<float> values_;
};

} // namespace attn
