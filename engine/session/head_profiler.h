#pragma once

#include "engine/session/attention_lens.h"
#include "engine/session/pattern_views.h"

namespace attn {

/// Sums up what a head does, over a pattern that is never formed: one pass through its rows, in bands.
class HeadProfiler {
public:
    static constexpr size_t kLargest = 12; ///< cells that are listed

    /// @param source whose positions have a name and whose rows are live
    HeadProfiler(gpu::Context& context, KernelLibrary& kernels, TensorStore& store, LensSource source);
    ~HeadProfiler();

    struct Region {
        int64_t queryBegin = 0, queryEnd = 0, keyBegin = 0, keyEnd = 0;
    };
    /// Begins anew. @param region of the largest cells
    void begin(int layer, int head, int64_t tokens, const Region& region);
    /// Works for about so long, at least one band. @return whether something is left to do
    bool work(double milliseconds);
    const HeadProfile& profile() const { return profile_; }

private:
    GpuExecutor& bandStep();
    GpuExecutor& tileStep(Pooling pooling, bool isFine);
    void runBand(int64_t first, int64_t rows);
    std::span<const float> drawTile(Pooling pooling, LensBand band, int64_t keys);
    void addReceived(int64_t first, int64_t rows);
    void addCandidates(int64_t first, int64_t rows);
    std::vector<float> rowByHand(int64_t query) const; ///< empty: the row is the head's own
    void addByHand(int64_t query, std::span<const float> weights);
    void addOwn(int64_t first, int64_t rows);
    void resolve();

    gpu::Context& context_;
    KernelLibrary& kernels_;
    TensorStore& store_;
    LensSource source_;
    int32_t sets_; ///< LensBand::setsOfLanes
    Region region_;
    int64_t tokens_ = 0, next_ = 0;
    int level_ = 0;                             ///< log2 of the keys of a pixel
    std::vector<HeadProfile::Cell> candidates_; ///< pixels, by their first cell: the largest cells are among theirs
    std::vector<HeadProfile::Cell> byHand_;     ///< the largest cells of rows that are set by hand
    std::vector<double> received_, distances_;
    std::unique_ptr<GpuExecutor> band_;
    std::map<std::pair<Pooling, bool>, std::unique_ptr<GpuExecutor>> tiles_;
    HeadProfile profile_;
};

/// Puts a cell where it belongs among the HeadProfiler::kLargest largest, the first first.
void keepLargest(std::vector<HeadProfile::Cell>& cells, const HeadProfile::Cell& cell);

} // namespace attn
