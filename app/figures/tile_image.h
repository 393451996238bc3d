#pragma once

#include "app/figures/colour_map.h"
#include "app/figures/scale.h"

#include <QImage>
#include <QRectF>

#include <memory>

namespace attn {

/// The coloured image of a tile, cached until the tile, the scale or the colour map changes. Pixels without a level are
/// transparent.
class TileImage {
public:
    /// Updates the outdated parts. A tile is identified by its address.
    /// @param before set: draws `tile` minus this in the diverging map, or nothing if the cells differ
    /// @param range as in scaleDifference()
    void update(const std::shared_ptr<const PatternTile>& tile, const Scale& scale, ColourMapId colours,
                const std::shared_ptr<const PatternTile>& before = nullptr, float range = 0);

    bool isEmpty() const { return image_.isNull(); }
    /// One pixel per tile pixel.
    const QImage& image() const { return image_; }
    const ScaledTile& scaled() const { return scaled_; }

    /// A part of the image at a lower resolution. So that no peak is lost, each pixel has the colour of the highest
    /// level, or of the largest difference, that it covers.
    /// @param part in tile pixels
    const QImage& pooled(const QRectF& part, const QSize& size) const;

private:
    std::shared_ptr<const PatternTile> tile_, before_;
    Scale scale_;
    float range_ = 0;
    ColourMapId colours_ = ColourMapId::Viridis;
    ScaledTile scaled_;
    QImage image_;
    mutable QImage pooled_; ///< the last result of pooled()
    mutable QRectF pooledPart_;
};

} // namespace attn
