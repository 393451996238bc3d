#include "engine/core/error.h"
#include "engine/inference/step_plan.h"
#include "engine/inference/view_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {

void writeWindow(GpuExecutor& executor, const std::array<int, 8>& window) {
    std::ranges::copy(window, executor.inputIntegers("window").begin());
}

} // namespace

StepParams LanguageModel::viewParams() const {
    StepParams params;
    params[StepScalar::QueryLength] = params[StepScalar::KeyLength] = static_cast<uint32_t>(tokens_.size());
    return params;
}

LanguageModel::Step& LanguageModel::gridStep(int size) {
    auto& step = grids_[size];
    if (!step) {
        std::vector<int> layers;
        for (int layer = 0; layer < info_.layers; ++layer) layers.push_back(layer);
        std::map<std::string, Tensor> outputs;
        const auto graph = viewGraph(config(), capacity_, layers, info_.heads, size, outputs);
        step = std::make_unique<Step>();
        step->executor = std::make_unique<GpuExecutor>(*device_, *store_, compile(graph, outputs));
    }
    return *step;
}

LanguageModel::Step& LanguageModel::tileStep(int layer, int size, TileUse use) {
    auto& step = tiles_[{layer, size, use}];
    if (!step) {
        std::map<std::string, Tensor> outputs;
        const auto graph = viewGraph(config(), capacity_, {layer}, 1, size, outputs);
        step = std::make_unique<Step>();
        step->executor = std::make_unique<GpuExecutor>(*device_, *store_, compile(graph, outputs));
    }
    return *step;
}

PatternTile LanguageModel::readTile(const GpuExecutor& executor, const std::string& result, int index,
                                    const PatternRequest& view, int rows, int columns) const {
    const Shape& shape = executor.plan().result(result).type.shape; // [tiles, size, size]
    const std::span<const float> pixels = executor.result(result);
    PatternTile tile{.site = view.site,
                     .head = view.head,
                     .rows = rows,
                     .columns = columns,
                     .queryBegin = view.queryBegin,
                     .queryEnd = view.queryEnd,
                     .keyBegin = view.keyBegin,
                     .keyEnd = view.keyEnd,
                     .values = {}};
    tile.values.reserve(static_cast<size_t>(rows * columns));
    for (int row = 0; row < rows; ++row) {
        const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>((index * shape[1] + row) * shape.rowStride());
        tile.values.insert(tile.values.end(), begin, begin + columns);
    }
    return tile;
}

PatternGrid LanguageModel::patternGrid(int size, bool hidesFirst) {
    const auto count = static_cast<int>(tokens_.size());
    if (count == 0 || size <= 0) return {};
    hidesFirst = hidesFirst && count > std::clamp(size, 8, 256); // limits of boundedView()
    if (drawsLongPatternThumbnails(hidesFirst)) {
        PatternGrid grid = beginGrid(size, hidesFirst);
        while (refine(1000)) {
        }
        return refinedGrid().value_or(std::move(grid));
    }
    size = std::clamp(size, 8, 256);
    // A pixel covers a power of two of tokens, so a new token changes only the last row of pixels: it is masked for
    // earlier queries. Rows before the first changed token are copied from the last picture.
    int cells = 1;
    while ((count + cells - 1) / cells > size) cells *= 2;
    const int pixels = (count + cells - 1) / cells;
    if (isComposed()) {
        PatternGrid grid{.sites = info_.layers, .heads = info_.heads, .tiles = {}};
        for (int layer = 0; layer < info_.layers; ++layer)
            for (int head = 0; head < info_.heads; ++head)
                grid.tiles.push_back(composedTile({.site = layer,
                                                   .head = head,
                                                   .queryBegin = 0,
                                                   .queryEnd = pixels * cells,
                                                   .keyBegin = 0,
                                                   .keyEnd = pixels * cells,
                                                   .hidesFirst = hidesFirst},
                                                  pixels, pixels));
        return grid;
    }
    const bool isCausal =
        std::ranges::all_of(config().layers, [](const LayerAttention& spec) { return spec.rule.causal; });
    const bool fits = isCausal && gridSize_ == size && gridCells_ == cells && !grid_.tiles.empty();
    const auto unchanged =
        fits ? static_cast<int>(std::ranges::mismatch(tokens_, gridTokens_).in1 - tokens_.begin()) : 0;
    const int firstRow = std::min({unchanged / cells, pixels - 1, fits ? grid_.tiles.front().rows : 0});

    GpuExecutor& executor = *gridStep(size).executor;
    writeWindow(executor, {firstRow * cells, pixels * cells, 0, pixels * cells, pixels - firstRow, pixels, 0, 0});
    executor.run(viewParams());
    PatternGrid grid{.sites = info_.layers, .heads = info_.heads, .tiles = {}};
    for (int layer = 0; layer < info_.layers; ++layer)
        for (int head = 0; head < info_.heads; ++head) {
            const PatternRequest view{
                .site = layer, .head = head, .queryBegin = 0, .queryEnd = count, .keyBegin = 0, .keyEnd = count};
            const PatternTile fresh =
                readTile(executor, fmt::format("tile.{}", layer), head, view, pixels - firstRow, pixels);
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
    gridTokens_ = tokens_;
    gridSize_ = size;
    gridCells_ = cells;
    return grid;
}

namespace {

/// Limits a token range to existing tokens; an empty range means all.
std::pair<int, int> clampRange(int begin, int end, int count) {
    if (end <= begin) return {0, count};
    begin = std::clamp(begin, 0, count - 1);
    return {begin, std::clamp(end, begin + 1, count)};
}

int tileSize(int wanted) {
    int size = 64;
    while (size < wanted && size < 2048) size *= 2;
    return size;
}

} // namespace

/// A tile on the device and its view.
struct LanguageModel::DrawnTile {
    const GpuExecutor& executor;
    PatternRequest view; ///< the requested view, limited to existing tokens and heads
    int rows, columns;

    std::string result() const { return fmt::format("tile.{}", view.site); }
};

PatternRequest LanguageModel::boundedView(PatternRequest view) const {
    const auto count = static_cast<int>(tokens_.size());
    view.site = std::clamp(view.site, 0, info_.layers - 1);
    view.head = std::clamp(view.head, 0, info_.heads - 1);
    std::tie(view.queryBegin, view.queryEnd) = clampRange(view.queryBegin, view.queryEnd, count);
    std::tie(view.keyBegin, view.keyEnd) = clampRange(view.keyBegin, view.keyEnd, count);
    view.detailSize = std::clamp(view.detailSize, 1, 2048);
    // A whole picture with one pixel per cell always includes key 0 here. The host can leave it out exactly.
    if (view.queryEnd - view.queryBegin == count && view.keyEnd - view.keyBegin == count && view.detailSize >= count)
        view.hidesFirst = false;
    return view;
}

LanguageModel::DrawnTile LanguageModel::drawTile(const PatternRequest& request, TileUse use) {
    const PatternRequest view = boundedView(request);
    const int rows = std::min(view.queryEnd - view.queryBegin, view.detailSize),
              columns = std::min(view.keyEnd - view.keyBegin, view.detailSize);
    if (isComposed())
        throw Error({.what = "patterns of composed attention do not stay on the device",
                     .where = info_.name,
                     .hint = "open the model in attention-lab"});
    GpuExecutor& executor = *tileStep(view.site, tileSize(std::max(rows, columns)), use).executor;
    writeWindow(executor, {view.queryBegin, view.queryEnd, view.keyBegin, view.keyEnd, rows, columns, view.head,
                           static_cast<int>(view.aggregate)});
    executor.run(viewParams());
    return {executor, view, rows, columns};
}

PatternTile LanguageModel::patternTile(const PatternRequest& request) {
    if (tokens_.empty()) return {};
    if (isComposed()) {
        const PatternRequest view = boundedView(request);
        return composedTile(view, std::min(view.queryEnd - view.queryBegin, view.detailSize),
                            std::min(view.keyEnd - view.keyBegin, view.detailSize));
    }
    if (drawsLongPattern(boundedView(request))) {
        beginTile(request);
        while (refine(1000)) {
        }
        return *refinedTile();
    }
    if (request.aggregate != HeadAggregate::None &&
        (boundedView(request).hidesFirst || (!isBypassed() && hookEdits().editsPatternOf(boundedView(request).site))))
        return aggregateTile(request);
    const DrawnTile drawn = drawTile(request, TileUse::ReadBack);
    PatternTile tile = readTile(drawn.executor, drawn.result(), 0, drawn.view, drawn.rows, drawn.columns);
    if (drawn.view.aggregate != HeadAggregate::None) tile.head = -1;
    return tile;
}

PatternTile LanguageModel::aggregateTile(PatternRequest view) {
    const bool isMean = std::exchange(view.aggregate, HeadAggregate::None) == HeadAggregate::Mean;
    PatternTile result;
    for (view.head = 0; view.head < info_.heads; ++view.head) {
        const PatternTile tile = patternTile(view);
        if (view.head == 0) {
            result = tile;
            if (isMean) std::ranges::fill(result.values, 0.0f);
        }
        for (size_t i = 0; i < tile.values.size(); ++i)
            result.values[i] = isMean ? result.values[i] + tile.values[i] / static_cast<float>(info_.heads)
                                      : std::max(result.values[i], tile.values[i]);
    }
    result.head = -1;
    return result;
}

LanguageModel::DevicePattern LanguageModel::patternOnDevice(const PatternRequest& request) {
    if (tokens_.empty()) return {};
    const DrawnTile drawn = drawTile(request, TileUse::Draw);
    const PatternRequest& view = drawn.view;
    const GpuExecutor::DeviceResult at = drawn.executor.deviceResult(drawn.result()); // [1, size, size]
    return {.buffer = at.buffer,
            .byteOffset = at.byteOffset,
            .byteSize = at.byteSize,
            .rowStride = static_cast<int>(at.shape.rowStride()),
            .tile = {.site = view.site,
                     .head = view.aggregate == HeadAggregate::None ? view.head : -1,
                     .rows = drawn.rows,
                     .columns = drawn.columns,
                     .queryBegin = view.queryBegin,
                     .queryEnd = view.queryEnd,
                     .keyBegin = view.keyBegin,
                     .keyEnd = view.keyEnd,
                     .values = {}}};
}

WeightView LanguageModel::weight(const std::string& name, int maximumSize) const {
    constexpr size_t kBins = 64;
    const std::vector<float> values = store_->read(name);
    const Shape& shape = store_->entry(name).shape;
    const int64_t rows = shape.rows(), columns = shape.columns(), most = std::clamp(maximumSize, 1, 4096);
    WeightView view{.name = name,
                    .shape = shape.extents(),
                    .rows = static_cast<int>(std::min(rows, most)),
                    .columns = static_cast<int>(std::min(columns, most)),
                    .values = {},
                    .histogram = std::vector<int>(kBins)};
    std::vector<double> sums(static_cast<size_t>(view.rows) * static_cast<size_t>(view.columns));
    std::vector<int> counts(sums.size());
    double total = 0, squares = 0;
    int64_t finite = 0;
    view.minimum = INFINITY;
    view.maximum = -INFINITY;
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
            const float value = values[static_cast<size_t>(row * columns + column)];
            if (!std::isfinite(value)) continue;
            const auto pixel =
                static_cast<size_t>(row * view.rows / rows * view.columns + column * view.columns / columns);
            sums[pixel] += value;
            ++counts[pixel];
            ++finite;
            total += value;
            squares += static_cast<double>(value) * value;
            view.minimum = std::min(view.minimum, value);
            view.maximum = std::max(view.maximum, value);
        }
    if (finite == 0) view.minimum = view.maximum = 0;
    const double n = static_cast<double>(std::max<int64_t>(finite, 1));
    view.mean = static_cast<float>(total / n);
    view.standardDeviation = static_cast<float>(std::sqrt(std::max(0.0, squares / n - total / n * (total / n))));
    for (size_t i = 0; i < sums.size(); ++i)
        view.values.push_back(counts[i] == 0 ? NAN : static_cast<float>(sums[i] / counts[i]));
    const double span = std::max(1e-30, static_cast<double>(view.maximum) - view.minimum);
    for (float value : values)
        if (std::isfinite(value))
            ++view.histogram[std::min(kBins - 1,
                                      static_cast<size_t>((static_cast<double>(value) - view.minimum) / span * kBins))];
    return view;
}

} // namespace attn
