#include "engine/inference/long_pattern_thumbnails.h"

#include "engine/core/made_once.h"
#include "engine/inference/view_graph.h"

#include <algorithm>
#include <chrono>

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kHeadsOfRun = 8;
constexpr int64_t kRowsOfBand = int64_t{1} << LensBand::kMostLevel; ///< queries in one run
constexpr double kThumbnailBandMs = 15; ///< target time of a band, the longest that a command waits
constexpr double kFirstThumbnailCellsPerMs = 40'000;

} // namespace

LongPatternThumbnails::LongPatternThumbnails(Device& device, TensorStore& store, std::vector<LongPatternSource> layers,
                                             int size)
    : device_(device), store_(store), layers_(std::move(layers)), size_(size), sets_(lensSets(device.kernelTraits())),
      cellsPerMs_(kFirstThumbnailCellsPerMs) {
    grid_.sites = static_cast<int>(layers_.size());
    grid_.heads = static_cast<int>(layers_.front().heads);
    for (size_t layer = 0; layer < layers_.size(); ++layer)
        for (int head = 0; head < grid_.heads; head += kHeadsOfRun)
            groups_.push_back(
                {.layer = layer, .firstHead = head, .heads = std::min(kHeadsOfRun, grid_.heads - head), .exact = 0});
}

LongPatternThumbnails::~LongPatternThumbnails() = default;

void LongPatternThumbnails::show(int64_t tokens, int64_t firstChanged, bool isCoarse, bool hidesFirst) {
    int level = 0;
    const auto pixelsOf = [&](int64_t count) { return static_cast<int>(((count - 1) >> level) + 1); };
    while (pixelsOf(tokens) > size_ && level < LensBand::kMostLevel) ++level;
    const int pixels = pixelsOf(tokens);
    const auto kept = static_cast<int>(std::min({firstChanged, tokens, tokens_}) >> level);
    const PatternGrid former = std::move(grid_);
    grid_ = {.sites = former.sites, .heads = former.heads, .tiles = {}};
    for (Group& group : groups_) {
        const bool stays =
            level == level_ && hidesFirst == hidesFirst_ && !former.tiles.empty() && layers_[group.layer].rule.causal;
        group.exact = stays ? std::min(group.exact, kept) : 0;
        for (int head = group.firstHead; head < group.firstHead + group.heads; ++head) {
            PatternTile& tile = grid_.tiles.emplace_back(
                PatternTile{.site = static_cast<int>(group.layer),
                            .head = head,
                            .rows = pixels,
                            .columns = pixels,
                            .queryBegin = 0,
                            .queryEnd = static_cast<int>(tokens),
                            .keyBegin = 0,
                            .keyEnd = static_cast<int>(tokens),
                            .exactRows = static_cast<float>(group.exact) / static_cast<float>(pixels),
                            .leavesOutFirst = hidesFirst,
                            .values = std::vector<float>(static_cast<size_t>(pixels) * static_cast<size_t>(pixels))});
            for (int row = 0; row < group.exact; ++row) {
                const PatternTile& old = former.at(tile.site, head);
                std::copy_n(old.values.begin() + static_cast<std::ptrdiff_t>(row) * old.columns,
                            std::min(old.columns, pixels),
                            tile.values.begin() + static_cast<std::ptrdiff_t>(row) * pixels);
            }
        }
    }
    tokens_ = tokens;
    level_ = level;
    hidesFirst_ = hidesFirst;
    if (!isCoarse) return;
    for (const Group& group : groups_) // draws only the first query of each pixel
        draw(group,
             {.firstRow = static_cast<int32_t>(group.exact << level),
              .rowStep = 1 << level,
              .rowCount = pixels - group.exact},
             group.exact);
}

bool LongPatternThumbnails::work(double milliseconds) {
    const Clock::time_point start = Clock::now();
    while (drawBand())
        if (std::chrono::duration<double, std::milli>(Clock::now() - start).count() >= milliseconds) break;
    return std::ranges::any_of(grid_.tiles, [](const PatternTile& tile) { return tile.exactRows < 1; });
}

/// Draws the next band. @return false if there is none left
bool LongPatternThumbnails::drawBand() {
    const auto found = std::ranges::find_if(
        groups_, [&](const Group& group) { return !grid_.tiles.empty() && group.exact < grid_.tiles.front().rows; });
    if (found == groups_.end()) return false;
    Group& group = *found;
    const Clock::time_point start = Clock::now();
    const int64_t cells = int64_t{1} << level_, firstQuery = group.exact * cells;
    // The largest number of keys that these rows see, for their normalisers and then for the picture.
    const double keys =
        2.0 * group.heads *
        static_cast<double>(layers_[group.layer].rule.causal ? std::min(firstQuery + kRowsOfBand, tokens_) : tokens_);
    const auto fitting = static_cast<int64_t>(cellsPerMs_ * kThumbnailBandMs / keys) / cells;
    const int rows = grid_.tiles.front().rows;
    const int band =
        static_cast<int>(std::clamp<int64_t>(fitting, 1, std::min<int64_t>(kRowsOfBand / cells, rows - group.exact)));
    const int64_t queries = std::min(band * cells, tokens_ - firstQuery);
    draw(group,
         {.firstRow = static_cast<int32_t>(firstQuery), .rowLevel = level_, .rowCount = static_cast<int32_t>(queries)},
         group.exact);
    group.exact += band;
    for (int head = group.firstHead; head < group.firstHead + group.heads; ++head)
        grid_.tiles[group.layer * static_cast<size_t>(grid_.heads) + static_cast<size_t>(head)].exactRows =
            static_cast<float>(group.exact) / static_cast<float>(rows);
    const double took = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (took > 1) cellsPerMs_ = (cellsPerMs_ + static_cast<double>(queries) * keys / took) / 2;
    return true;
}

/// @return [heads * size, size] with padded rows
std::span<const float> LongPatternThumbnails::run(const Group& group, LensBand band) {
    band.head = group.firstHead;
    band.heads = group.heads;
    band.columnLevel = level_;
    band.columns = grid_.tiles.front().columns;
    band.setsOfLanes = sets_;
    band.firstSeen = hidesFirst_;
    GpuExecutor& executor = step(group.layer, level_ < 2);
    runLongPatternStep(executor, band, tokens_);
    return executor.result("pixels");
}

PatternTile& LongPatternThumbnails::tileOf(const Group& group, int head) {
    return grid_.tiles[group.layer * static_cast<size_t>(grid_.heads) + static_cast<size_t>(group.firstHead + head)];
}

/// Draws a band of all heads of a group into their tiles, starting at a row of pixels.
void LongPatternThumbnails::draw(const Group& group, const LensBand& band, int firstRow) {
    if (band.rowCount <= 0) return;
    const std::span<const float> drawn = run(group, band);
    const int pixels = grid_.tiles.front().columns;
    const int64_t stride = Shape{size_}.rowStride();
    for (int head = 0; head < group.heads; ++head)
        for (int row = 0; row < band.rows(); ++row)
            std::copy_n(drawn.begin() + static_cast<std::ptrdiff_t>((int64_t{head} * size_ + row) * stride), pixels,
                        tileOf(group, head).values.begin() + static_cast<std::ptrdiff_t>(firstRow + row) * pixels);
    if (!layers_[group.layer].changedRows) return;
    for (int head = 0; head < group.heads; ++head)
        for (int row = 0; row < band.rows(); ++row) {
            const int queries = std::min(1 << band.rowLevel, band.rowCount - (row << band.rowLevel));
            drawChanged(group, head, band.firstRow + (row << band.rowLevel) * std::max(band.rowStep, 1), queries,
                        firstRow + row);
        }
}

/// Draws a row of pixels of one head again if a change sets rows in it. Other rows are the head's own.
void LongPatternThumbnails::drawChanged(const Group& group, int head, int firstQuery, int queries, int row) {
    const auto changedRows = [&](int query) { return layers_[group.layer].changedRows(group.firstHead + head, query); };
    PatternTile& tile = tileOf(group, head);
    PooledRow pooled({.count = tile.columns, .level = level_, .tokens = tokens_, .hidesFirst = hidesFirst_});
    int set = 0;
    for (int query = firstQuery; query < firstQuery + queries; ++query)
        if (const auto weights = changedRows(query); !weights.empty()) {
            pooled.add(weights);
            ++set;
        }
    if (set == 0) return;
    const auto stride = static_cast<size_t>(Shape{size_}.rowStride());
    for (int at = 0; set < queries && at < queries; at += size_) {
        const int count = std::min(size_, queries - at);
        const std::span<const float> drawn = run(group, {.firstRow = firstQuery + at, .rowCount = count});
        for (int own = 0; own < count; ++own)
            if (changedRows(firstQuery + at + own).empty())
                pooled.addPooled(drawn.subspan(static_cast<size_t>(head * size_ + own) * stride));
    }
    std::ranges::copy(pooled.values(), tile.values.begin() + static_cast<std::ptrdiff_t>(row) * tile.columns);
}

GpuExecutor& LongPatternThumbnails::step(size_t layer, bool isFine) {
    return madeOnce(steps_, {layer, isFine}, [&] {
        return longPatternStep(device_, store_, layers_[layer], kHeadsOfRun, kRowsOfBand, size_, isFine);
    });
}

} // namespace attn
