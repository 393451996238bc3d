#pragma once

#include "engine/inference/head_profiler.h"
#include "engine/inference/long_pattern_thumbnails.h"
#include "engine/inference/patterns.h"

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace attn {

/// Patterns recomputed from cached queries and keys: whole pictures in one run, or with many tokens by the long-pattern
/// view.
class CachedPatterns : public Patterns {
public:
    using Patterns::Patterns;
    ~CachedPatterns() override;

    PatternGrid grid(int size, bool hidesFirst = false) override;
    PatternTile tile(const PatternRequest& view) override;
    PatternGrid beginGrid(int size, bool hidesFirst = false) override;
    PatternTile beginTile(const PatternRequest& view) override;
    HeadProfile beginProfile(int site, int head) override;
    bool refine(double milliseconds) override;
    std::optional<PatternTile> refinedTile() const override;
    std::optional<PatternGrid> refinedGrid() const override;
    std::optional<HeadProfile> refinedProfile() const override;
    DevicePattern onDevice(const PatternRequest& view) override;

    int64_t planBytes() const override;
    void tokensChange(size_t from) override;
    void changesChanged() override { grid_ = {}; }

private:
    enum class TileUse { ReadBack, Draw }; // each has its own memory
    struct DrawnTile;
    std::unique_ptr<GpuExecutor> executorFor(const std::vector<int>& sites, int64_t heads, int size) const;
    GpuExecutor& gridExecutor(int size);
    GpuExecutor& tileExecutor(int site, int size, TileUse use);
    DrawnTile draw(const PatternRequest& request, TileUse use);
    PatternTile aggregate(PatternRequest view); ///< head by head
    bool needsLongView() const;                 ///< too many tokens for exact pictures in one run
    bool drawsLong(const PatternRequest& view) const;
    bool drawsLongThumbnails(bool hidesFirst) const;
    LongPatternView& longViewOf(int site);

    std::map<int, std::unique_ptr<GpuExecutor>> grids_;                           ///< by size
    std::map<std::tuple<int, int, TileUse>, std::unique_ptr<GpuExecutor>> tiles_; ///< by site, size and use
    PatternGrid grid_; ///< the last thumbnails, for gridTokens_ with gridCells_ tokens per pixel
    std::vector<int> gridTokens_;
    int gridSize_ = 0, gridCells_ = 0;

    // Of many tokens: one head in detail, thumbnails of all heads, and a profile.
    std::unique_ptr<LongPatternView> long_;
    int longSite_ = 0;                       ///< site of `long_`
    std::optional<PatternRequest> longTile_; ///< the view that `long_` shows; empty: none
    std::unique_ptr<LongPatternThumbnails> thumbnails_;
    bool showsThumbnails_ = false;
    std::unique_ptr<HeadProfiler> profiler_;
    int profiledSite_ = 0; ///< site of `profiler_`
    bool showsProfile_ = false;
    size_t longValid_ = 0, thumbnailsValid_ = 0; ///< leading tokens that did not change since the last view
};

} // namespace attn
