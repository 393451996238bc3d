#pragma once

#include "engine/inference/long_pattern_view.h"
#include "engine/inference/pattern_views.h"

namespace attn {

/// Computes the profile of a head in one pass over the rows of its pattern, in bands. The pattern is never stored.
class HeadProfiler {
public:
    static constexpr size_t kLargest = 12; ///< number of largest cells to list

    /// @param source with named positions and live rows
    HeadProfiler(Device& device, TensorStore& store, LongPatternSource source);
    ~HeadProfiler();

    /// A range of cells.
    struct Region {
        int64_t queryBegin = 0, queryEnd = 0, keyBegin = 0, keyEnd = 0;
    };
    /// Starts a new profile. @param region in which to find the largest cells
    void begin(int layer, int head, int64_t tokens, const Region& region);
    /// Computes bands for about this time, at least one. @return whether the profile is still incomplete
    bool work(double milliseconds);
    const HeadProfile& profile() const { return profile_; }

private:
    GpuExecutor& bandStep();
    GpuExecutor& tileStep(Pooling pooling, bool isFine);
    void runBand(int64_t first, int64_t rows);
    std::span<const float> drawTile(Pooling pooling, LensBand band, int64_t keys);
    std::span<const float> drawReceived(int64_t first, int64_t rows);
    void addReceived(std::span<const float> means, int64_t rows);
    void addCandidates(int64_t first, int64_t rows);
    std::vector<float> changedRow(int64_t query) const; ///< empty: no change sets the row
    void addChanged(int64_t query, std::span<const float> weights);
    void addOwn(int64_t first, int64_t rows);
    void resolve();

    Device& device_;
    TensorStore& store_;
    LongPatternSource source_;
    int32_t sets_; ///< LensBand::setsOfLanes
    Region region_;
    int64_t tokens_ = 0, next_ = 0;
    int level_ = 0;                              ///< log2 of the keys per pixel
    std::vector<HeadProfile::Cell> candidates_;  ///< pixels, by their first cell, that contain the largest cells
    std::vector<HeadProfile::Cell> changedRows_; ///< the largest cells of rows that changes set
    std::vector<double> received_, distances_;
    std::unique_ptr<GpuExecutor> band_;
    std::map<std::pair<Pooling, bool>, std::unique_ptr<GpuExecutor>> tiles_;
    HeadProfile profile_;
};

/// Inserts a cell into the list of the HeadProfiler::kLargest largest; among equal cells, the first comes first.
void keepLargest(std::vector<HeadProfile::Cell>& cells, const HeadProfile::Cell& cell);

} // namespace attn
