#pragma once

#include "engine/inference/changed_rows.h"
#include "engine/ops/lens.h"
#include "engine/runtime/device_picture.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attn {

/// The queries and keys of a long-pattern view: states of a store that must outlive the view.
struct LongPatternSource {
    std::string q, k;          ///< [T,H,D] and [S,G,D], after rotary embedding
    std::string positions;     ///< I32 [T], with T = S; empty: 0, 1, 2, ...
    AttentionRule rule;        ///< for one sequence
    std::vector<float> slopes; ///< [H] slopes of ALiBi; empty: none
    int64_t capacity = 0;      ///< T of the states
    int64_t heads = 1, groups = 1, width = 1;
    bool hasLiveRows = false; ///< only StepScalar::KeyLength rows are in use
    std::string statePrefix =
        "long_pattern";      ///< prefix of the view's states in the store; must differ between concurrent views
    ChangedRows changedRows; ///< rows that changes set; null: none. Needs a causal rule
};

/// The part of a pattern to draw, and its resolution.
struct LongPatternRegion {
    static constexpr int kMostSide = 1024; ///< largest side, in pixels

    int head = 0;
    int level = 0;               ///< log2 of the cells per side of a pixel, at most LensBand::kMostLevel
    int64_t row = 0, column = 0; ///< place of the first pixel, in pixels of this level
    int rows = 0, columns = 0;   ///< size, in pixels
    Pooling pooling = Pooling::Maximum;
    bool hidesFirst = false; ///< see PatternTile::leavesOutFirst; also applies to row() and cell()
    bool operator==(const LongPatternRegion&) const = default;
};

/// The pixels of a view.
struct LongPatternPicture {
    LongPatternRegion view;
    std::vector<float> pixels;    ///< [rows, columns] largest or mean attention weight of the cells in each pixel
    std::vector<uint8_t> isExact; ///< [rows]; a row that is not exact shows one query of each 2^level
    bool isWhole() const;         ///< whether all rows are exact
};

/// The pooled view of a pattern with more tokens than pixels. The pattern is never stored: only q, k and one normaliser
/// per row are, so memory grows linearly with the number of tokens. A picture is coarse at first and becomes exact in
/// bands, each a short run on the device.
class LongPatternView {
public:
    /// @throws Error as setTokens()
    LongPatternView(Device& device, TensorStore& store, LongPatternSource source);
    ~LongPatternView();

    /// Call after q, k or their number changed, for tokens from `firstChanged` on. Results that do not depend on these
    /// stay.
    /// @throws Error if there are more tokens than the states hold or the device can address
    void setTokens(int64_t tokens, int64_t firstChanged = 0);
    int64_t tokens() const { return tokens_; }

    /// Starts another picture, and keeps the normalisers of rows. @throws Error if the view is too large
    void show(const LongPatternRegion& view);
    /// Computes bands for about this time, at least one. @return whether the picture is still incomplete
    bool work(double milliseconds);
    const LongPatternPicture& picture() const { return picture_; }
    /// From now on, also keeps the pixels in a buffer on the device.
    void keepOnDevice();
    /// [rows of the view, LongPatternRegion::kMostSide] pixels; the columns after those of the view are undefined.
    /// Needs keepOnDevice().
    const gpu::Buffer& devicePixels() const;

    /// The attention weights of one row, pooled over 2^level keys each. @return [ceil(tokens / 2^level)]
    /// @throws Error if there is no such row, head or level
    std::vector<float> row(int head, int64_t query, int level, Pooling pooling = Pooling::Maximum);

    /// The attention weight of one cell. @throws Error if there is no such cell
    float cell(int head, int64_t query, int64_t key);

    uint64_t deviceBytes() const; ///< device memory besides q and k

private:
    using Clock = std::chrono::steady_clock;

    std::string stateName(const char* name) const; ///< name of a state of this view in the store
    void begin(const LongPatternRegion& view, const LongPatternPicture& former, int64_t rows);
    void gatherHead(int head);
    GpuExecutor& statisticsStep();
    GpuExecutor& coarseStep(Pooling pooling, bool isFine);
    GpuExecutor& tileStep(Pooling pooling, bool isFine);
    AttentionInputs inputs(Graph& graph) const;
    float slope() const;
    std::unique_ptr<GpuExecutor> prepared(const std::shared_ptr<Graph>& graph,
                                          const std::map<std::string, Tensor>& outputs) const;
    StepParams params(int64_t rows, int64_t at) const;
    std::vector<float> pixelsOfRow(int head, int64_t query, int level, int64_t firstPixel, int64_t count,
                                   Pooling pooling);
    void drawCoarse();
    bool drawBand();
    void drawOwn(int64_t queries);
    std::vector<float> changedRows(int head, int64_t query) const;
    bool isChangedIn(int64_t pixelRow) const;
    PooledRow::Pixels pixelsOf(int64_t firstPixel, int64_t count, int level, Pooling pooling) const;
    void drawChanged(int64_t pixelRow);
    void writePixelRow(int64_t pixelRow, std::span<const float> pixels);
    void computeRowStatistics(int head, int64_t first, int64_t end);
    void draw(GpuExecutor& executor, const LensBand& band, int firstPixelRow, int columns);

    Device& device_;
    TensorStore& store_;
    LongPatternSource source_;
    int32_t sets_; ///< LensBand::setsOfLanes
    int64_t tokens_ = 0;
    LongPatternPicture picture_;
    bool hidesFirst_ = false;                         ///< also for the normalisers of rows
    int nextRow_ = 0;                                 ///< first row of pixels that is not exact
    int gatheredHead_ = -1;                           ///< the head whose queries and keys are gathered; -1: none
    std::vector<std::vector<bool>> hasRowStatistics_; ///< [heads][rows] whether the normaliser of a row is valid
    double cellsPerMs_ = 0;                           ///< measured
    std::unique_ptr<DevicePicture> onDevice_;         ///< null: pixels are not kept on the device
    std::unique_ptr<GpuExecutor> gatherStep_, statistics_;
    std::map<std::pair<Pooling, bool>, std::unique_ptr<GpuExecutor>> coarse_, tiles_;
};

} // namespace attn
