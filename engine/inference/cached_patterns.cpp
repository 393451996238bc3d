#include "engine/inference/cached_patterns.h"

#include "engine/core/made_once.h"
#include "engine/inference/language_model.h"
#include "engine/inference/view_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace attn {
namespace {

void writeWindow(GpuExecutor& executor, const std::array<int, 8>& window) {
    std::ranges::copy(window, executor.inputIntegers("window").begin());
}

/// Adds the pixels of a result [tiles, size, size] to a tile.
PatternTile readTile(const GpuExecutor& executor, const std::string& result, int index, PatternTile tile) {
    const Shape& shape = executor.plan().result(result).type.shape; // [tiles, size, size]
    const std::span<const float> pixels = executor.result(result);
    tile.values.reserve(static_cast<size_t>(tile.rows * tile.columns));
    for (int row = 0; row < tile.rows; ++row) {
        const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>((index * shape[1] + row) * shape.rowStride());
        tile.values.insert(tile.values.end(), begin, begin + tile.columns);
    }
    return tile;
}

StepParams paramsOf(const LanguageModel& model) {
    StepParams params;
    params[StepScalar::QueryLength] = params[StepScalar::KeyLength] = static_cast<uint32_t>(model.tokens().size());
    return params;
}

int tileSize(int wanted) {
    int size = 64;
    while (size < wanted && size < 2048) size *= 2;
    return size;
}

} // namespace

CachedPatterns::~CachedPatterns() = default;

std::unique_ptr<GpuExecutor> CachedPatterns::executorFor(const std::vector<int>& sites, int64_t heads, int size) const {
    std::map<std::string, Tensor> outputs;
    const auto graph = viewGraph(model_.config(), model_.cacheRows(), sites, heads, size, outputs);
    return std::make_unique<GpuExecutor>(model_.device(), model_.store(), compile(graph, outputs));
}

GpuExecutor& CachedPatterns::gridExecutor(int size) {
    return madeOnce(grids_, size, [&] {
        std::vector<int> sites(static_cast<size_t>(model_.info().siteCount()));
        std::iota(sites.begin(), sites.end(), 0);
        return executorFor(sites, model_.info().heads, size);
    });
}

GpuExecutor& CachedPatterns::tileExecutor(int site, int size, TileUse use) {
    return madeOnce(tiles_, {site, size, use}, [&] { return executorFor({site}, 1, size); });
}

PatternGrid CachedPatterns::grid(int size, bool hidesFirst) {
    const auto count = static_cast<int>(model_.tokens().size());
    if (count == 0 || size <= 0) return {};
    hidesFirst = hidesFirst && count > std::clamp(size, 8, 256); // limits of bounded()
    if (drawsLongThumbnails(hidesFirst)) {
        PatternGrid grid = beginGrid(size, hidesFirst);
        while (refine(1000)) {
        }
        return refinedGrid().value_or(std::move(grid));
    }
    size =
        std::min(std::clamp(size, 8, 256), std::max(8, static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)))));
    // A pixel covers a power of two of tokens, so a new token changes only the last row of pixels: it is masked for
    // earlier queries. Rows before the first changed token are copied from the last picture.
    int cells = 1;
    while ((count + cells - 1) / cells > size) cells *= 2;
    const int pixels = (count + cells - 1) / cells;
    const bool fits = gridSize_ == size && gridCells_ == cells && !grid_.tiles.empty();
    const auto unchanged =
        fits ? static_cast<int>(std::ranges::mismatch(model_.tokens(), gridTokens_).in1 - model_.tokens().begin()) : 0;
    const int firstRow = std::min({unchanged / cells, pixels - 1, fits ? grid_.tiles.front().rows : 0});

    GpuExecutor& executor = gridExecutor(size);
    writeWindow(executor, {firstRow * cells, pixels * cells, 0, pixels * cells, pixels - firstRow, pixels, 0, 0});
    executor.run(paramsOf(model_));
    PatternGrid grid{.sites = model_.info().siteCount(), .heads = model_.info().heads, .tiles = {}};
    for (int layer = 0; layer < model_.info().siteCount(); ++layer)
        for (int head = 0; head < model_.info().heads; ++head) {
            if (head >= model_.info().site(layer).heads) {
                grid.tiles.push_back({.site = layer, .head = head});
                continue;
            }
            const PatternRequest view{
                .site = layer, .head = head, .queryBegin = 0, .queryEnd = count, .keyBegin = 0, .keyEnd = count};
            const PatternTile fresh =
                readTile(executor, fmt::format("tile.{}", layer), head, emptyTile(view, pixels - firstRow, pixels));
            PatternTile tile = fresh;
            tile.rows = pixels;
            tile.values.assign(static_cast<size_t>(pixels) * static_cast<size_t>(pixels), 0);
            for (int row = 0; row < firstRow; ++row) {
                const PatternTile& old = grid_.at(layer, head);
                const auto from = old.values.begin() + static_cast<std::ptrdiff_t>(row) * old.columns;
                std::copy_n(from, std::min(old.columns, pixels),
                            tile.values.begin() + static_cast<std::ptrdiff_t>(row) * pixels);
            }
            std::ranges::copy(fresh.values, tile.values.begin() + static_cast<std::ptrdiff_t>(firstRow) * pixels);
            grid.tiles.push_back(std::move(tile));
        }
    grid_ = grid;
    gridTokens_ = model_.tokens();
    gridSize_ = size;
    gridCells_ = cells;
    return grid;
}

/// A tile on the device and its view.
struct CachedPatterns::DrawnTile {
    const GpuExecutor& executor;
    PatternRequest view; ///< the requested view, limited to existing tokens and heads
    int rows, columns;

    std::string result() const { return fmt::format("tile.{}", view.site); }
};

CachedPatterns::DrawnTile CachedPatterns::draw(const PatternRequest& request, TileUse use) {
    const PatternRequest view = bounded(request);
    const int rows = std::min(view.queryEnd - view.queryBegin, view.detailSize),
              columns = std::min(view.keyEnd - view.keyBegin, view.detailSize);
    GpuExecutor& executor = tileExecutor(view.site, tileSize(std::max(rows, columns)), use);
    writeWindow(executor, {view.queryBegin, view.queryEnd, view.keyBegin, view.keyEnd, rows, columns, view.head,
                           static_cast<int>(view.aggregate)});
    executor.run(paramsOf(model_));
    return {executor, view, rows, columns};
}

PatternTile CachedPatterns::tile(const PatternRequest& request) {
    if (model_.tokens().empty()) return {};
    if (drawsLong(bounded(request))) {
        beginTile(request);
        while (refine(1000)) {
        }
        return *refinedTile();
    }
    if (request.aggregate != HeadAggregate::None &&
        (bounded(request).hidesFirst ||
         (!model_.isBypassed() && model_.hookChanges().changesPatternOf(bounded(request).site))))
        return aggregate(request);
    const DrawnTile drawn = draw(request, TileUse::ReadBack);
    return readTile(drawn.executor, drawn.result(), 0, emptyTile(drawn.view, drawn.rows, drawn.columns));
}

PatternTile CachedPatterns::aggregate(PatternRequest view) {
    const bool isMean = std::exchange(view.aggregate, HeadAggregate::None) == HeadAggregate::Mean;
    PatternTile result;
    for (view.head = 0; view.head < model_.info().site(view.site).heads; ++view.head) {
        const PatternTile tile = this->tile(view);
        if (view.head == 0) {
            result = tile;
            if (isMean) std::ranges::fill(result.values, 0.0f);
        }
        for (size_t i = 0; i < tile.values.size(); ++i)
            result.values[i] =
                isMean ? result.values[i] + tile.values[i] / static_cast<float>(model_.info().site(view.site).heads)
                       : std::max(result.values[i], tile.values[i]);
    }
    result.head = -1;
    return result;
}

DevicePattern CachedPatterns::onDevice(const PatternRequest& request) {
    if (model_.tokens().empty()) return {};
    const DrawnTile drawn = draw(request, TileUse::Draw);
    const GpuExecutor::DeviceResult at = drawn.executor.deviceResult(drawn.result()); // [1, size, size]
    return {.buffer = at.buffer,
            .byteOffset = at.byteOffset,
            .byteSize = at.byteSize,
            .rowStride = static_cast<int>(at.shape.rowStride()),
            .tile = emptyTile(drawn.view, drawn.rows, drawn.columns)};
}

int64_t CachedPatterns::planBytes() const {
    uint64_t bytes = 0;
    for (const auto& [size, executor] : grids_) bytes += executor->deviceBytes();
    for (const auto& [key, executor] : tiles_) bytes += executor->deviceBytes();
    return static_cast<int64_t>(bytes);
}

} // namespace attn
