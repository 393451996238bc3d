#pragma once

#include "engine/inference/long_pattern_view.h"
#include "engine/inference/pattern_views.h"

namespace attn {

/// Thumbnails of all heads of a decoder, pooled from its caches without storing patterns. They are coarse at first,
/// then become exact layer by layer.
class LongPatternThumbnails {
public:
    /// @param size largest side in pixels, 8 to 256
    LongPatternThumbnails(Device& device, TensorStore& store, std::vector<LongPatternSource> layers, int size);
    ~LongPatternThumbnails();

    int size() const { return size_; }
    /// Call after queries and keys from `firstChanged` on, or their number, changed.
    /// @param isCoarse   whether to draw a coarse picture at once; else changed pixels are empty until work()
    /// @param hidesFirst see PatternTile::leavesOutFirst
    void show(int64_t tokens, int64_t firstChanged, bool isCoarse, bool hidesFirst = false);
    /// Computes bands for about this time, at least one. @return whether a thumbnail is still incomplete
    bool work(double milliseconds);
    /// The thumbnails. exactRows of a tile gives its exact share.
    const PatternGrid& grid() const { return grid_; }

private:
    /// Heads of a layer that share a run.
    struct Group {
        size_t layer = 0;
        int firstHead = 0, heads = 0;
        int exact = 0; ///< number of exact rows of pixels, from the top
    };

    GpuExecutor& step(size_t layer, bool isFine);
    std::span<const float> run(const Group& group, LensBand band);
    PatternTile& tileOf(const Group& group, int head); ///< @param head index in the group
    void draw(const Group& group, const LensBand& band, int firstRow);
    void drawChanged(const Group& group, int head, int firstQuery, int queries, int row);
    bool drawBand();

    Device& device_;
    TensorStore& store_;
    std::vector<LongPatternSource> layers_;
    int size_;
    int32_t sets_; ///< LensBand::setsOfLanes
    int64_t tokens_ = 0;
    int level_ = 0;
    bool hidesFirst_ = false;
    std::vector<Group> groups_;
    double cellsPerMs_;                                                     ///< measured
    std::map<std::pair<size_t, bool>, std::unique_ptr<GpuExecutor>> steps_; ///< by layer, and whether it is fine
    PatternGrid grid_;
};

} // namespace attn
