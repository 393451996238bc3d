#pragma once

#include "app/figures/figure.h"
#include "app/figures/tile_image.h"

#include "engine/session/pattern_views.h"

#include <QPointF>

#include <optional>
#include <vector>

namespace attn {

/// A head of a layer, or an aggregate over the layer's heads.
struct HeadChoice {
    int layer = 0;
    int head = 0; ///< of no meaning for an aggregate
    HeadAggregate aggregate = HeadAggregate::None;
    bool operator==(const HeadChoice&) const = default;
};

/// Every head as a thumbnail: layers down, heads across, and at the right the mean and the maximum over each layer's
/// heads. Heads that share a key/value head stand under one bracket.
struct ThumbnailGridFigure : Figure {
    std::shared_ptr<const NewestRows> newest;       ///< may be null
    std::shared_ptr<const NewestRows> newestBefore; ///< not null: what `newest` differs by from it is drawn
    int keyValueHeads = 0;                          ///< 0 or as many as heads: no groups
    Scale scale;
    ColourMapId colours = ColourMapId::Viridis;
    HeadChoice selected;
    std::optional<HeadChoice> hovered;
    double glow = 0; ///< 0..1, how brightly the newest token's rows are lit
    bool hasFocus = false;

    /// The aggregates' tiles are made here, from the heads' tiles.
    /// @param before not null: what `grid` differs by from it is drawn, all heads in the same colours; where it is not
    /// of the same shape it counts as null
    void setGrid(const std::shared_ptr<const PatternGrid>& grid,
                 const std::shared_ptr<const PatternGrid>& before = nullptr);
    const std::shared_ptr<const PatternGrid>& grid() const { return grid_; }
    const std::shared_ptr<const PatternGrid>& before() const { return before_; }
    float range() const; ///< of a difference: the change that has the full colour; 0: there is none
    bool isEmpty() const { return !grid_ || grid_->layers <= 0 || grid_->heads <= 0 || grid_->tiles.empty(); }

    struct Layout {
        QRectF origin; ///< of the thumbnail of layer 0, head 0
        double stepX = 0, stepY = 0;
        double aggregateGap = 0;
        double strip = 0; ///< height of the newest row below each thumbnail
        QRectF header, brackets;
        double labelWidth = 0;
    };
    Layout layout(const QRectF& area, const FigureTheme& theme) const;
    /// The picture, without its strip.
    QRectF thumbnailRect(const Layout& layout, int layer, int column) const;
    std::optional<HeadChoice> choiceAt(const QPointF& point, const Layout& layout) const;
    /// Heads, then mean and maximum where there is more than one head.
    int columns() const;
    int columnOf(const HeadChoice& choice) const;
    HeadChoice choiceOf(int layer, int column) const;
    QSizeF smallestSize(const FigureTheme& theme) const;

    void paint(QPainter& painter, const QRectF& area, const FigureTheme& theme) const override;
    /// One line per layer, head and key: the newest token's row.
    QString csv() const override;
    std::vector<NumberArray> numbers() const override;

private:
    int groupSize() const;
    const NewestRows* comparableNewest() const; ///< newestBefore where it is of the same keys, else null
    std::vector<float> newestValues() const;    ///< or what they differ by
    double headerHeight(const FigureTheme& theme) const;
    const QImage& pixels(int layer, int column, const QSize& size) const;
    void paintHeader(QPainter& painter, const Layout& layout, const FigureTheme& theme) const;
    void paintThumbnail(QPainter& painter, const Layout& layout, const FigureTheme& theme, int layer, int column) const;
    void paintStrip(QPainter& painter, const QRectF& rect, const FigureTheme& theme, int layer, int column) const;

    std::shared_ptr<const PatternGrid> grid_, before_;
    std::vector<std::shared_ptr<const PatternTile>> tiles_, tilesBefore_; ///< [layers, columns]; they keep grids alive
    mutable std::optional<std::pair<Scale, float>> range_;
    mutable std::vector<TileImage> thumbnails_;
};

} // namespace attn
