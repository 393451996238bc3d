#pragma once

#include "app/figures/figure.h"
#include "app/figures/tile_image.h"

#include "engine/inference/pattern_views.h"

#include <QCoreApplication>
#include <QPointF>

#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// A head of a layer, or an aggregate over the layer's heads.
struct HeadChoice {
    int site = 0;
    int head = 0; ///< ignored for an aggregate
    HeadAggregate aggregate = HeadAggregate::None;
    bool operator==(const HeadChoice&) const = default;
};

struct HeatmapFigure;

/// "L1 H0", or "L1, mean of heads".
/// @param site the name of the site in figures, ModelStructure::labelOf(); empty: "L1"
QString headTitle(const HeadChoice& choice, const QString& site = {});
/// The meaning of a pixel of a pooled pattern, to follow a title: ": each pixel shows ..."; empty if a pixel is a cell.
QString resolutionText(const PatternTile* tile);

/// A thumbnail of every head: layers down, heads across, and on the right the mean and the maximum over each layer's
/// heads. A bracket joins heads that share a key/value head.
struct ThumbnailGridFigure : Figure {
    std::shared_ptr<const ReadoutRows> readoutRows;   ///< may be null
    std::shared_ptr<const ReadoutRows> readoutBefore; ///< set: the figure shows `readoutRows` minus this
    std::vector<QString> siteLabels{};                ///< names of the rows of thumbnails: "L2"
    struct Words {
        std::vector<QString> queries, keys;
    };
    std::vector<Words> words{}; ///< the tokens of each site, for heatmap(); empty: tokens have numbers
    std::vector<float> kept;    ///< [layers * heads] the fraction of its output that a head keeps; empty: all of it
    int keyValueHeads = 0;      ///< 0 or the number of heads: no groups are drawn
    Scale scale;
    ColourMapId colours = ColourMapId::Viridis;
    HeadChoice selected;
    std::optional<HeadChoice> hovered;
    double glow = 0; ///< 0..1, the brightness of the rows when a token is added
    bool hasFocus = false;

    /// Sets the tiles of the heads and computes the tiles of aggregates.
    /// @param before set: the figure shows `grid` minus this, with one colour scale for all heads; ignored if the
    /// shapes differ
    void setGrid(const std::shared_ptr<const PatternGrid>& grid,
                 const std::shared_ptr<const PatternGrid>& before = nullptr);
    const std::shared_ptr<const PatternGrid>& grid() const { return grid_; }
    const std::shared_ptr<const PatternGrid>& before() const { return before_; }
    /// The tile of a thumbnail, and the tile that it is compared with: null for none.
    std::shared_ptr<const PatternTile> tile(const HeadChoice& choice) const { return tiles_[indexOf(choice)]; }
    std::shared_ptr<const PatternTile> tileBefore(const HeadChoice& choice) const {
        return before_ ? tilesBefore_[indexOf(choice)] : nullptr;
    }
    /// One of the heads large, with its tokens.
    HeatmapFigure heatmap(const HeadChoice& choice) const;
    bool hasTile(int layer, int column) const; ///< false if the layer has fewer heads than another
    float range() const;                       ///< the difference that has the full colour; 0 if no difference is shown
    bool isEmpty() const { return !grid_ || grid_->sites <= 0 || grid_->heads <= 0 || grid_->tiles.empty(); }

    struct Layout {
        QRectF origin; ///< the thumbnail of layer 0, head 0
        double stepX = 0, stepY = 0;
        double aggregateGap = 0;
        double strip = 0; ///< height of the row below each thumbnail
        QRectF header, brackets;
        double labelWidth = 0;
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    /// The area of a thumbnail without its strip.
    QRectF thumbnailRect(const Layout& layout, int layer, int column) const;
    std::optional<HeadChoice> choiceAt(const QPointF& point, const Layout& layout) const;
    /// The number of columns: the heads, plus mean and maximum if there is more than one head.
    int columns() const;
    int columnOf(const HeadChoice& choice) const;
    HeadChoice choiceOf(int layer, int column) const;
    QString siteLabel(int site) const;
    QSizeF smallestSize(const FigureTheme& theme) const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// The patterns as they are shown: one line per layer, head and pixel.
    QString csv() const override;
    /// "pattern" [layers, heads, queries, keys], or "pattern_pooled" if a pixel is the largest of several weights, and
    /// the row that the readout reads [layers, heads, keys] at full length. If sites differ in size, each has its own
    /// arrays.
    std::vector<NumberArray> numbers() const override;
    bool hasNumbers() const override { return !isEmpty(); }
    std::shared_ptr<const Figure> copy() const override { return std::make_shared<ThumbnailGridFigure>(*this); }

private:
    size_t indexOf(const HeadChoice& choice) const {
        return static_cast<size_t>(choice.site * columns() + columnOf(choice));
    }
    int groupSize() const;
    const ReadoutRows* comparableRows() const; ///< readoutBefore if it has the same keys, otherwise null
    std::vector<float> readoutValues() const;  ///< the weights or their differences
    /// [rows, columns] of a tile: its weights or their differences, NaN for cells without colour.
    std::vector<float> visibleValues(int site, int head) const;
    double headerHeight(const FigureTheme& theme) const;
    double labelWidth(const FigureTheme& theme) const; ///< of the labels of sites, with a gap
    const QImage& pixels(int layer, int column, const QSize& size) const;
    void paintHeader(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    void paintThumbnail(QPainter& painter, const Layout& layout, const FigureTheme& theme, int layer, int column) const;
    void paintStrip(QPainter& painter, const QRectF& rect, const FigureTheme& theme, int layer, int column) const;

    std::shared_ptr<const PatternGrid> grid_, before_;
    std::vector<std::shared_ptr<const PatternTile>> tiles_, tilesBefore_; ///< [layers, columns]; they keep grids alive
    mutable std::optional<std::pair<Scale, float>> range_;
    mutable std::vector<TileImage> thumbnails_;

    Q_DECLARE_TR_FUNCTIONS(attn::ThumbnailGridFigure)
};

} // namespace attn
