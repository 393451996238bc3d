#pragma once

#include "engine/ops/lens.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/session/rows_by_hand.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attn {

/// What a lens looks at: states of a store, which outlive it.
struct LensSource {
    std::string q, k;          ///< [T,H,D] and [S,G,D], as they meet: rotated where positions are rotary
    std::string positions;     ///< I32 [T], T = S; "" counts from 0
    AttentionRule rule;        ///< of one sequence
    std::vector<float> slopes; ///< [H], of ALiBi; empty for none
    int64_t capacity = 0;      ///< T of the states
    int64_t heads = 1, groups = 1, width = 1;
    bool hasLiveRows = false;  ///< StepScalar::KeyLength rows of them are in use
    std::string lens = "lens"; ///< what the lens keeps in the store begins with it: those that share it know nothing of
                               ///< one another
    RowsByHand byHand;         ///< rows that q and k do not give; null: none. Of a causal rule
};

/// A part of the pattern as a picture.
struct LensView {
    static constexpr int kMostSide = 1024; ///< pixels

    int head = 0;
    int level = 0;               ///< log2 of the cells on a side of a pixel, to LensBand::kMostLevel
    int64_t row = 0, column = 0; ///< of the first pixel, in pixels of this level
    int rows = 0, columns = 0;   ///< in pixels
    Pooling pooling = Pooling::Maximum;
    bool hidesFirst = false; ///< as PatternTile::leavesOutFirst; row() and cell() follow the last view
    bool operator==(const LensView&) const = default;
};

struct LensPicture {
    LensView view;
    std::vector<float> pixels;    ///< [rows, columns]: largest or mean probability of the cells of each
    std::vector<uint8_t> isExact; ///< of each row; else one query in 2^level stands for all of its pixel
    bool isWhole() const;
};

/// Looks at a pattern that is never formed: q, k and one normaliser for each row are all that is kept, so that nothing
/// grows with the square of the tokens. A picture is coarse at once and becomes exact in bands, each a short run.
class AttentionLens {
public:
    /// @throws Error as setTokens()
    AttentionLens(gpu::Context& context, KernelLibrary& kernels, TensorStore& store, LensSource source);
    ~AttentionLens();

    /// q, k or their count have changed: of the tokens from `firstChanged` on. What they do not reach stays as it is.
    /// @throws Error for more tokens than the states hold or the device can count
    void setTokens(int64_t tokens, int64_t firstChanged = 0);
    int64_t tokens() const { return tokens_; }

    /// Begins another picture; what is known of the rows is kept. @throws Error for a view that is too large
    void show(const LensView& view);
    /// Works for about so long, at least one band. @return whether something is left to do
    bool work(double milliseconds);
    const LensPicture& picture() const { return picture_; }
    /// From now on the picture's pixels lie on the device too, without having been on the host.
    void keepOnDevice();
    /// [rows of the view, LensView::kMostSide], of which the view's columns count. Needs keepOnDevice().
    const gpu::Buffer& devicePixels() const;

    /// One row's probabilities, pooled over 2^level keys each. @return [ceil(tokens / 2^level)]
    /// @throws Error if there is no such row, head or level
    std::vector<float> row(int head, int64_t query, int level, Pooling pooling = Pooling::Maximum);

    /// One cell's probability. @throws Error if there is no such cell
    float cell(int head, int64_t query, int64_t key);

    uint64_t deviceBytes() const; ///< beyond q and k

private:
    using Clock = std::chrono::steady_clock;

    std::string own(const char* name) const; ///< in the store
    void begin(const LensView& view, const LensPicture& former, int64_t rows);
    void bring(int head);
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
    std::vector<float> byHand(int head, int64_t query) const;
    bool isByHandIn(int64_t pixelRow) const;
    PooledRow::Pixels pixelsOf(int64_t firstPixel, int64_t count, int level, Pooling pooling) const;
    void drawByHand(int64_t pixelRow);
    void put(int64_t pixelRow, std::span<const float> pixels);
    void know(int head, int64_t first, int64_t end);
    void draw(GpuExecutor& executor, const LensBand& band, int firstPixelRow, int columns);
    struct DevicePixels;

    gpu::Context& context_;
    KernelLibrary& kernels_;
    TensorStore& store_;
    LensSource source_;
    int32_t sets_; ///< LensBand::setsOfLanes
    int64_t tokens_ = 0;
    LensPicture picture_;
    bool hidesFirst_ = false;              ///< in what is known of the rows, too
    int nextRow_ = 0;                      ///< of pixels, the first that is not exact
    int brought_ = -1;                     ///< the head whose queries and keys stand side by side
    std::vector<std::vector<bool>> known_; ///< of each head and row: whether its normaliser is right
    double cellsPerMs_ = 0;                ///< measured
    std::unique_ptr<DevicePixels> device_; ///< null: the host's picture is enough
    std::unique_ptr<GpuExecutor> bringer_, statistics_;
    std::map<std::pair<Pooling, bool>, std::unique_ptr<GpuExecutor>> coarse_, tiles_;
};

} // namespace attn
