#include "app/figures/tile_image.h"

#include "app/figures/difference.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

QRgb colourAt(const ColourMap& map, float level) { return level == kNoLevel ? 0u : map.at(level); }

/// The elements of [begin, begin + length) that pixel i of n covers: at least one, and all below limit.
std::pair<int, int> covered(int i, int n, double begin, double length, int limit) {
    const int from = std::clamp(static_cast<int>(std::floor(begin + length * i / n)), 0, limit - 1);
    const int to = std::clamp(static_cast<int>(std::ceil(begin + length * (i + 1) / n - 1e-6)), from + 1, limit);
    return {from, to};
}

} // namespace

void TileImage::update(const std::shared_ptr<const PatternTile>& tile, const Scale& scale, ColourMapId colours,
                       const std::shared_ptr<const PatternTile>& before, float range) {
    if (before) colours = ColourMapId::Diverging;
    const bool isRescaled = tile != tile_ || scale != scale_ || before != before_ || range != range_;
    if (!isRescaled && colours == colours_) return;
    tile_ = tile;
    before_ = before;
    scale_ = scale;
    range_ = range;
    colours_ = colours;
    pooled_ = {};
    if (!tile_ || tile_->rows <= 0 || tile_->columns <= 0 ||
        tile_->values.size() < static_cast<size_t>(tile_->rows) * static_cast<size_t>(tile_->columns) ||
        (before_ && !haveSameCells(*tile_, *before_))) {
        scaled_ = {};
        image_ = {};
        return;
    }
    if (isRescaled) scaled_ = before_ ? scaleDifference(*tile_, *before_, scale_, range_) : scaleTile(*tile_, scale_);
    image_ = QImage(tile_->columns, tile_->rows, QImage::Format_ARGB32_Premultiplied);
    const ColourMap& map = ColourMap::of(colours_);
    for (int row = 0; row < tile_->rows; ++row) {
        const float* levels = scaled_.levels.data() + static_cast<size_t>(row) * static_cast<size_t>(tile_->columns);
        auto* pixels = reinterpret_cast<QRgb*>(image_.scanLine(row));
        for (int column = 0; column < tile_->columns; ++column) pixels[column] = colourAt(map, levels[column]);
    }
}

const QImage& TileImage::pooled(const QRectF& part, const QSize& size) const {
    if (isEmpty() || size.isEmpty() || (pooled_.size() == size && pooledPart_ == part)) return pooled_;
    QImage result(size, QImage::Format_ARGB32_Premultiplied);
    const ColourMap& map = ColourMap::of(colours_);
    const size_t stride = static_cast<size_t>(image_.width());
    const auto strength = [this](float level) { return before_ && level != kNoLevel ? std::abs(level - 0.5f) : level; };
    std::vector<std::pair<int, int>> columns;
    for (int x = 0; x < size.width(); ++x)
        columns.push_back(covered(x, size.width(), part.left(), part.width(), image_.width()));
    for (int y = 0; y < size.height(); ++y) {
        const auto [top, bottom] = covered(y, size.height(), part.top(), part.height(), image_.height());
        auto* pixels = reinterpret_cast<QRgb*>(result.scanLine(y));
        for (int x = 0; x < size.width(); ++x) {
            float level = kNoLevel;
            for (int row = top; row < bottom; ++row)
                for (int column = columns[static_cast<size_t>(x)].first;
                     column < columns[static_cast<size_t>(x)].second; ++column) {
                    const float each = scaled_.levels[static_cast<size_t>(row) * stride + static_cast<size_t>(column)];
                    if (strength(each) > strength(level)) level = each;
                }
            pixels[x] = colourAt(map, level);
        }
    }
    pooled_ = std::move(result);
    pooledPart_ = part;
    return pooled_;
}

} // namespace attn
