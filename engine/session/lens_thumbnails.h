#pragma once

#include "engine/session/attention_lens.h"
#include "engine/session/pattern_views.h"

namespace attn {

/// Thumbnails of every head of a decoder's caches, pooled exactly without forming a pattern: coarse at once, and then
/// exact one layer after the other.
class LensThumbnails {
public:
    /// @param size most pixels on a side, 8 to 256
    LensThumbnails(gpu::Context& context, KernelLibrary& kernels, TensorStore& store, std::vector<LensSource> layers,
                   int size);
    ~LensThumbnails();

    int size() const { return size_; }
    /// Queries and keys from `firstChanged` on, or their count, have changed.
    /// @param isCoarse   whether to draw a coarse picture at once; else what has changed is empty until work()
    /// @param hidesFirst as PatternTile::leavesOutFirst
    void show(int64_t tokens, int64_t firstChanged, bool isCoarse, bool hidesFirst = false);
    /// Works for about so long, at least one band. @return whether something is left to do
    bool work(double milliseconds);
    /// Each tile's exactRows says how much of it is.
    const PatternGrid& grid() const { return grid_; }

private:
    /// Heads of a layer that are drawn in one run.
    struct Group {
        size_t layer = 0;
        int firstHead = 0, heads = 0;
        int exact = 0; ///< rows of pixels from the top that are
    };

    GpuExecutor& step(size_t layer, bool isFine);
    std::span<const float> run(const Group& group, LensBand band);
    PatternTile& tileOf(const Group& group, int head); ///< @param head counted in the group
    void draw(const Group& group, const LensBand& band, int firstRow);
    void drawByHand(const Group& group, int head, int firstQuery, int queries, int row);
    bool drawBand();

    gpu::Context& context_;
    KernelLibrary& kernels_;
    TensorStore& store_;
    std::vector<LensSource> layers_;
    int size_;
    int32_t sets_; ///< LensBand::setsOfLanes
    int64_t tokens_ = 0;
    int level_ = 0;
    bool hidesFirst_ = false;
    std::vector<Group> groups_;
    double cellsPerMs_;                                                     ///< measured
    std::map<std::pair<size_t, bool>, std::unique_ptr<GpuExecutor>> steps_; ///< of each layer, and whether it is fine
    PatternGrid grid_;
};

} // namespace attn
