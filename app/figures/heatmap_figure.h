#pragma once

#include "app/figures/drawing.h"
#include "app/figures/figure.h"
#include "app/figures/tile_image.h"

#include <QCoreApplication>
#include <QPointF>

#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// A query and a key, by token position.
struct Cell {
    int query = 0;
    int key = 0;
    bool operator==(const Cell&) const = default;
};

/// The heatmap of one head's pattern: queries down, keys across, tokens on both axes.
struct HeatmapFigure : Figure {
    std::shared_ptr<const PatternTile> tile;
    std::shared_ptr<const PatternTile> before; ///< set: the figure shows `tile` minus this, the original
    QString title;
    Scale scale;
    ColourMapId colours = ColourMapId::Viridis;
    /// Rows of the whole pattern, to place a partial tile; 0 if the tile is complete.
    int queryCount = 0, keyCount = 0;
    QRectF window; ///< visible part in tokens (x: keys, y: queries); null: all
    std::optional<Cell> hovered, selected;
    int linkedToken = -1; ///< the token under the pointer in another view; its row and column are marked
    bool hasFocus = false;

    /// Rectangles of all parts, for drawing and for hit tests.
    struct Layout {
        QRectF plot;
        QRectF window;                                                   ///< in tokens, never null
        QRectF title, keyTitle, queryTitle, keyLabels, queryLabels, bar; ///< null where there is no room
        double cellWidth() const { return plot.width() / window.width(); }
        double cellHeight() const { return plot.height() / window.height(); }
        QRectF cellRect(const Cell& cell) const;
        /// The fractional token position at a point, also outside the plot.
        QPointF tokensAt(const QPointF& point) const;
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    /// The cell under a point; none outside the plot.
    std::optional<Cell> cellAt(const QPointF& point, const Layout& layout) const;

    /// Sets the labels of all rows. A position without a label shows its number.
    /// @param keys empty: the same as the queries' labels
    void setLabels(std::vector<QString> queries, std::vector<QString> keys = {});
    const std::vector<QString>& queryLabels() const { return queryLabels_; }
    const std::vector<QString>& keyLabels() const { return keyLabels_.empty() ? queryLabels_ : keyLabels_; }
    QString queryLabelOf(int query) const;
    QString keyLabelOf(int key) const;

    /// The token range of the tile (x: keys, y: queries).
    QRectF tokenRange() const;
    /// The effective window if `window` is null.
    QRectF wholeWindow() const;
    bool isEmpty() const { return !tile || tile->rows <= 0 || tile->columns <= 0; }
    /// The attention weight or difference as shown (renormalised if the first token is hidden); NaN if the cell is
    /// hidden or outside the tile.
    float valueAt(const Cell& cell) const;
    bool isMasked(const Cell& cell) const; ///< whether the key is after a query that does not see it
    /// The difference that has the full colour; 0 if no difference is shown.
    float range() const { return before ? image().scaled().range : 0; }

    /// The names of the rows and columns of the tile: the number of a token and its label.
    std::vector<QString> rowNames() const;
    std::vector<QString> columnNames() const;
    /// The colours of its cells, row by row; transparent: hidden.
    std::vector<QRgb> cellColours() const;
    /// The colours of the colour bar, and its numbers.
    const ColourMap& barColours() const { return ColourMap::of(before ? ColourMapId::Diverging : colours); }
    std::vector<Tick> barTicks() const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    QSizeF pageSize(const QSizeF& onScreen, const FigureTheme& theme) const override;
    /// A matrix: the first row holds the keys, the first column the queries.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty() && !image().isEmpty(); }
    std::shared_ptr<const Figure> copy() const override;

private:
    const TileImage& image() const;
    std::optional<size_t> pixelOf(const Cell& cell) const; ///< index of its pixel in the tile; none outside
    std::vector<float> visibleValues() const;              ///< of the tile; NaN where a cell is masked or hidden
    void paintCells(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    void paintValues(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    void paintMarks(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    void paintAxis(QPainter& painter, const Layout& layout, const FigureTheme& theme, bool isKeyAxis) const;
    void paintBar(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    bool keyLabelsLieFlat(double cellWidth, const FigureTheme& theme) const;
    double widestLabel(const FigureTheme& theme) const;

    std::vector<QString> queryLabels_, keyLabels_;
    mutable TileImage image_;
    mutable double widest_ = 0, widestAtSize_ = 0; ///< the widest label, and the text size at which it was measured

    Q_DECLARE_TR_FUNCTIONS(attn::HeatmapFigure)
};

} // namespace attn
