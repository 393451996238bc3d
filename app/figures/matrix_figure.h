#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/figure.h"

#include <QCoreApplication>
#include <QImage>

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// A cell of a matrix.
struct MatrixCell {
    int row = 0;
    int column = 0;
    bool operator==(const MatrixCell&) const = default;
};

/// The heatmap of any matrix: scores, a bias, a mask, weights or an output. The kind of the numbers sets the colours.
struct MatrixFigure : Figure {
    enum class Kind {
        Signed,  ///< diverging, symmetric about zero
        Weights, ///< unsigned, from zero to the largest
        Cells,   ///< 1 if visible, 0 if masked
        Groups   ///< numbers that only name groups: neighbouring ones differ in colour
    };

    QString title, note; ///< the title above; a remark below, for example about an approximation
    QString rowTitle, columnTitle;
    std::vector<QString> rowLabels, columnLabels;       ///< for the first rows and columns; empty: numbers only
    bool rowsAreNamed = false, columnsAreNamed = false; ///< the labels replace the numbers
    bool areProbabilities = false;                      ///< the values, which are shown as percentages
    bool numbersAxes = false;                           ///< rows or columns without labels show their numbers
    Kind kind = Kind::Signed;
    /// The last columns, drawn apart with their own colour scale: on a shared one, their numbers would hide all others.
    struct Aside {
        int columns = 0;      ///< how many
        QString name, others; ///< titles above the colour bars of these columns and of the others
    };
    std::optional<Aside> aside; ///< set this before setMatrix()
    bool writesValues = false;  ///< writes values into the cells, if they fit
    /// Written into the cells, row-major, in the place of values; cut where they do not fit. Empty: none.
    std::vector<QString> words;
    float leastScale = 0;    ///< the colour scale reaches at least this value: see shareScale()
    double largestCell = 96; ///< pixels; keeps one token from filling the screen
    std::optional<MatrixCell> hovered, selected;
    int borderEvery = 0;          ///< the number of columns between two lines; 0: no lines
    std::optional<int> beyondRow; ///< the first row beyond the trained length, with a line above it
    bool hasFocus = false;

    /// @param values [rows, columns]; NaN has no colour
    void setMatrix(int rows, int columns, std::vector<float> values);
    int rows() const { return rows_; }
    int columns() const { return columns_; }
    bool isEmpty() const { return values_.empty(); }
    float valueAt(const MatrixCell& cell) const;
    /// The value at the end of a column's colour scale: the largest magnitude; 1 for cells and for a matrix of zeros.
    float largest(int column = 0) const;
    QColor colourOf(float value, const FigureTheme& theme) const;

    struct Layout {
        QRectF title, note, plot, bar, asideBar; ///< null where there is no room
        double cellWidth = 1, cellHeight = 1;
        int firstAside = std::numeric_limits<int>::max(); ///< the column after the gap
        double gap = 0;                                   ///< between the columns and those aside
        /// Room for the labels beside and above the plot; 0 if they are not shown.
        double rowLabels = 0, columnLabels = 0;
        QRectF cellRect(const MatrixCell& cell) const;
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    /// The name of a row: "3", or "3 “cat”" if it has a label.
    QString rowName(int row) const;
    QString columnName(int column) const;
    std::optional<MatrixCell> cellAt(const QPointF& point, const Layout& layout) const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// A matrix: the first row holds the column numbers, the first column the row numbers.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<MatrixFigure>(*this); }

private:
    /// The colour settings that all cells share.
    struct Palette {
        Kind kind;
        const ColourMap& map;
        float largest;
        QRgb hidden, seen;
        QRgb of(float value) const;
    };
    Palette palette(const FigureTheme& theme, int column = 0) const;
    int firstAside() const { return columns_ - (aside ? aside->columns : 0); }
    QImage cells(const FigureTheme& theme) const;         ///< one pixel per cell
    bool isBand() const { return columns_ >= 4 * rows_; } ///< far wider than tall
    void paintCells(QPainter& painter, const Layout& at, const FigureTheme& theme) const;
    void paintValues(QPainter& painter, const Layout& at, const FigureTheme& theme) const;
    void paintWords(QPainter& painter, const Layout& at, const FigureTheme& theme) const;
    void paintBar(QPainter& painter, const QRectF& bar, int column, const FigureTheme& theme) const;
    void paintAxes(QPainter& painter, const Layout& at, const FigureTheme& theme) const;
    void paintLabels(QPainter& painter, const Layout& at, const FigureTheme& theme, bool isRows) const;

    int rows_ = 0, columns_ = 0;
    std::array<float, 2> largest_{}; ///< of the columns, and of the columns aside
    std::vector<float> values_;

    Q_DECLARE_TR_FUNCTIONS(attn::MatrixFigure)
};

/// Gives figures side by side one scale, so that equal colours mean equal numbers.
void shareScale(MatrixFigure& a, MatrixFigure& b);

} // namespace attn
