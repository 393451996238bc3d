#pragma once

#include "app/figures/figure.h"
#include "app/figures/tile_image.h"

#include <QPointF>

#include <optional>
#include <vector>

namespace attn {

/// A query-key pair by token position.
struct Cell {
    int query = 0;
    int key = 0;
    bool operator==(const Cell&) const = default;
};

/// One head's pattern: queries down, keys across, tokens on both axes.
struct HeatmapFigure : Figure {
    std::shared_ptr<const PatternTile> tile;
    std::shared_ptr<const PatternTile> before; ///< not null: the same cells at another time, what `tile` differs from
    QString title;
    Scale scale;
    ColourMapId colours = ColourMapId::Viridis;
    int tokenCount =
        0;         ///< of the whole sequence, so that a tile of a part lies in its place; 0: the tile is all there is
    QRectF window; ///< visible part in tokens (x: keys, y: queries); null: everything
    std::optional<Cell> hovered, selected;
    int linkedToken = -1; ///< pointed at elsewhere: its row and column are marked
    bool hasFocus = false;

    /// Where things are; shared by drawing and by hit tests.
    struct Layout {
        QRectF plot;
        QRectF window;                                                   ///< in tokens, never null
        QRectF title, keyTitle, queryTitle, keyLabels, queryLabels, bar; ///< null where there is no room
        double cellWidth() const { return plot.width() / window.width(); }
        double cellHeight() const { return plot.height() / window.height(); }
        QRectF cellRect(const Cell& cell) const;
        /// Fractional token position under a point, also outside of the plot.
        QPointF tokensAt(const QPointF& point) const;
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    /// The cell under a point; none beside the plot.
    std::optional<Cell> cellAt(const QPointF& point, const Layout& layout) const;

    /// Labels of every token of the sequence; positions without one show their number.
    void setLabels(std::vector<QString> labels);
    const std::vector<QString>& labels() const { return labels_; }
    QString labelOf(int token) const;

    /// Token range of the tile as (x: keys, y: queries).
    QRectF tokenRange() const;
    /// What a null window shows.
    QRectF wholeWindow() const;
    bool isEmpty() const { return !tile || tile->rows <= 0 || tile->columns <= 0; }
    /// The probability, or what it differs by, as shown (renormalised where the first token is hidden); NaN where
    /// hidden or outside.
    float valueAt(const Cell& cell) const;
    /// Of a difference: the change that has the full colour; 0: there is none.
    float range() const { return before ? image().scaled().range : 0; }

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// A matrix: first row keys, first column queries.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    const TileImage& image() const;
    void paintCells(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    void paintValues(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    void paintMarks(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    void paintAxis(QPainter& painter, const Layout& layout, const FigureTheme& theme, bool isKeyAxis) const;
    void paintBar(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    bool keyLabelsLieFlat(double cellWidth, const FigureTheme& theme) const;
    double widestLabel(const FigureTheme& theme) const;

    std::vector<QString> labels_;
    mutable TileImage image_;
    mutable double widest_ = 0, widestAtSize_ = 0; ///< of all labels, measured at one type size
};

} // namespace attn
