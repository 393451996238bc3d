#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/scale.h"

#include <QImage>
#include <QRectF>

#include <memory>

namespace attn {

/// The coloured picture of a tile, kept until the tile, the scale or the map changes. Pixels without a level are
/// transparent.
class TileImage {
public:
    /// Rebuilds what changed; tiles are told apart by their addresses.
    /// @param before not null: how the tile differs from it is drawn, in the diverging map; where it is not of the same
    /// cells nothing is  @param range as of scaleDifference()
    void update(const std::shared_ptr<const PatternTile>& tile, const Scale& scale, ColourMapId colours,
                const std::shared_ptr<const PatternTile>& before = nullptr, float range = 0);

    bool isEmpty() const { return image_.isNull(); }
    /// One pixel per tile pixel.
    const QImage& image() const { return image_; }
    const ScaledTile& scaled() const { return scaled_; }

    /// Part of the picture at a lower resolution: each pixel has the colour of the highest level it covers, or of the
    /// largest change, so that no peak is lost.
    /// @param part in tile pixels
    const QImage& pooled(const QRectF& part, const QSize& size) const;

private:
    std::shared_ptr<const PatternTile> tile_, before_;
    Scale scale_;
    float range_ = 0;
    ColourMapId colours_ = ColourMapId::Viridis;
    ScaledTile scaled_;
    QImage image_;
    mutable QImage pooled_; ///< the last answer of pooled()
    mutable QRectF pooledPart_;
};

} // namespace attn
