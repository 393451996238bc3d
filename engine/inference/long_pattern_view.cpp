#include "engine/inference/long_pattern_view.h"

#include "engine/core/error.h"
#include "engine/core/made_once.h"
#include "engine/ops/tensor_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace attn {
namespace {

constexpr const char *kStatistics = "statistics",
                     *kPositions = "positions"; // names in the store, after the prefix of the view
constexpr const char *kHeadQ = "head_q", *kHeadK = "head_k";
constexpr const char *kRows = "rows", *kView = "view", *kSlope = "slope", *kPixels = "pixels";

constexpr int64_t kQueriesOfBand = 4096;  ///< queries in one run
constexpr int64_t kPixelRowsOfBand = 128; ///< rows of pixels in one run
constexpr double kBandMs = 25;            ///< target time of a band, the longest that another view waits
constexpr double kFirstCellsPerMs = 40'000;

void write(GpuExecutor& executor, const char* input, const std::array<int32_t, 16>& words) {
    std::ranges::copy(words, executor.inputIntegers(input).begin());
}

} // namespace

bool LongPatternPicture::isWhole() const {
    return std::ranges::all_of(isExact, [](uint8_t exact) { return exact != 0; });
}

LongPatternView::LongPatternView(Device& device, TensorStore& store, LongPatternSource source)
    : device_(device), store_(store), source_(std::move(source)), sets_(lensSets(device_.kernelTraits())),
      hasRowStatistics_(static_cast<size_t>(source_.heads)), cellsPerMs_(kFirstCellsPerMs) {
    std::vector<std::pair<std::string, Shape>> states{{stateName(kStatistics), {source_.heads * source_.capacity, 4}},
                                                      {stateName(kHeadQ), {source_.capacity, 1, source_.width}},
                                                      {stateName(kHeadK), {source_.capacity, 1, source_.width}}};
    const bool hasPositions = !source_.positions.empty();
    if (!hasPositions) {
        source_.positions = stateName(kPositions);
        states.push_back({source_.positions, {source_.capacity}});
    }
    store_.resize(states);
    if (!hasPositions) {
        store_.write(source_.positions, [](int64_t first, std::span<float> rows) {
            for (size_t i = 0; i < rows.size(); ++i)
                rows[i] = std::bit_cast<float>(static_cast<int32_t>(first) + static_cast<int32_t>(i));
        });
    }
    setTokens(source_.hasLiveRows ? 0 : source_.capacity);
}

LongPatternView::~LongPatternView() = default;

std::string LongPatternView::stateName(const char* name) const {
    return fmt::format("{}.{}", source_.statePrefix, name);
}

void LongPatternView::keepOnDevice() {
    if (onDevice_) return;
    onDevice_ = std::make_unique<DevicePicture>(device_, LongPatternRegion::kMostSide);
    if (picture_.view.rows > 0) show(picture_.view); // draw again
}

const gpu::Buffer& LongPatternView::devicePixels() const { return onDevice_->buffer(); }

void LongPatternView::setTokens(int64_t tokens, int64_t firstChanged) {
    if (tokens < 0 || tokens > source_.capacity)
        throw Error({.what = fmt::format("{} tokens do not fit into {}", tokens, source_.capacity),
                     .where = "long-pattern view",
                     .hint = "use fewer tokens"});
    if (const int64_t most = lensTokens(device_.kernelTraits(), source_.width); tokens > most)
        throw Error({.what = fmt::format("a pattern of {} tokens with heads of {} features is too large", tokens,
                                         source_.width),
                     .where = device_.name(),
                     .hint = fmt::format("this device addresses at most {} tokens: use fewer, or a GPU", most)});
    // Rows that see later tokens change with the last token.
    const int64_t first = source_.rule.causal ? std::clamp<int64_t>(firstChanged, 0, std::min(tokens, tokens_)) : 0;
    tokens_ = tokens;
    gatheredHead_ = -1;
    for (std::vector<bool>& rows : hasRowStatistics_) {
        rows.resize(static_cast<size_t>(source_.capacity));
        std::fill(rows.begin() + first, rows.end(), false);
    }
    const LongPatternPicture former = std::move(picture_);
    picture_ = {};
    if (former.view.rows > 0) begin(former.view, former, (first >> former.view.level) - former.view.row);
}

void LongPatternView::show(const LongPatternRegion& view) {
    if (view.rows < 1 || view.columns < 1 || view.rows > LongPatternRegion::kMostSide ||
        view.columns > LongPatternRegion::kMostSide)
        throw Error({.what = fmt::format("a picture of {} x {} pixels cannot be drawn", view.columns, view.rows),
                     .where = "long-pattern view",
                     .hint = fmt::format("choose sides from 1 to {}", LongPatternRegion::kMostSide)});
    if (view.level < 0 || view.level > LensBand::kMostLevel || view.head < 0 || view.head >= source_.heads ||
        view.row < 0 || view.column < 0)
        throw Error(
            {.what = fmt::format("there is no head {} at level {} from row {}, column {}", view.head, view.level,
                                 view.row, view.column),
             .where = "long-pattern view",
             .hint = fmt::format("heads are 0 to {}, levels 0 to {}", source_.heads - 1, LensBand::kMostLevel)});
    if (view.hidesFirst != hidesFirst_) // changes the sum of each row
        for (std::vector<bool>& rows : hasRowStatistics_) rows.assign(rows.size(), false);
    hidesFirst_ = view.hidesFirst;
    begin(view, {}, 0);
}

/// @param rows number of rows of pixels to copy from a former picture of the same view
void LongPatternView::begin(const LongPatternRegion& view, const LongPatternPicture& former, int64_t rows) {
    picture_ = {.view = view,
                .pixels = std::vector<float>(static_cast<size_t>(view.rows) * static_cast<size_t>(view.columns), 0),
                .isExact = std::vector<uint8_t>(static_cast<size_t>(view.rows), 0)};
    const auto kept = static_cast<size_t>(std::clamp<int64_t>(rows, 0, view.rows));
    std::copy_n(former.pixels.begin(), kept * static_cast<size_t>(view.columns), picture_.pixels.begin());
    std::copy_n(former.isExact.begin(), kept, picture_.isExact.begin());
    nextRow_ = 0;
    if (onDevice_) onDevice_->clearFrom(static_cast<int>(kept));
    for (int row = 0; row < view.rows; ++row) // rows after the last token are empty
        if ((view.row + row) << view.level >= tokens_) picture_.isExact[static_cast<size_t>(row)] = 1;
    if (tokens_ > 0 && view.level > 0 && !picture_.isWhole()) drawCoarse();
}

bool LongPatternView::work(double milliseconds) {
    const Clock::time_point start = Clock::now();
    do {
        if (!drawBand()) return false;
    } while (std::chrono::duration<double, std::milli>(Clock::now() - start).count() < milliseconds);
    return !picture_.isWhole();
}

/// Gathers the queries and keys of a head in one place. Among those of other heads they would fill caches and pages
/// with values that are not read.
void LongPatternView::gatherHead(int head) {
    if (head == gatheredHead_) return;
    if (!gatherStep_) {
        const auto graph = std::make_shared<Graph>();
        std::map<std::string, Tensor> outputs;
        const auto add = [&](const char* name, const std::string& from, int64_t heads) {
            const Tensor of = graph->input(fmt::format("{}.head", name), {.shape = {1}, .dtype = DType::I32});
            const Tensor all = graph->state(from, {.shape = {source_.capacity, heads, source_.width}});
            const Tensor one = take(all, broadcast(reshape(of, {1, 1}), {source_.capacity, 1})); // [T,1,D]
            outputs.emplace(
                name, assign(graph->state(stateName(name), {.shape = one.shape()}), one, StepScalar::CacheOffset));
        };
        add(kHeadQ, source_.q, source_.heads);
        add(kHeadK, source_.k, source_.groups);
        gatherStep_ = std::make_unique<GpuExecutor>(device_, store_, compile(graph, outputs));
    }
    gatherStep_->inputIntegers(fmt::format("{}.head", kHeadQ))[0] = head;
    gatherStep_->inputIntegers(fmt::format("{}.head", kHeadK))[0] =
        head / static_cast<int>(source_.heads / source_.groups);
    gatheredHead_ = -1; // until all of it is there
    gatherStep_->run({});
    gatheredHead_ = head;
    for (const auto* steps : {&coarse_, &tiles_})
        for (const auto& [key, step] : *steps) step->input(kSlope)[0] = slope();
    if (statistics_) statistics_->input(kSlope)[0] = slope();
}

float LongPatternView::slope() const {
    return source_.slopes.empty() ? 0 : source_.slopes[static_cast<size_t>(gatheredHead_)];
}

AttentionInputs LongPatternView::inputs(Graph& graph) const {
    const auto live = source_.hasLiveRows ? std::optional(StepScalar::KeyLength) : std::nullopt;
    const auto state = [&](const char* name) {
        return graph.state(stateName(name), {.shape = {source_.capacity, 1, source_.width}, .liveRows = live});
    };
    const Tensor positions =
        graph.state(source_.positions, {.shape = {source_.capacity}, .dtype = DType::I32, .liveRows = live});
    return {.q = state(kHeadQ), .k = state(kHeadK), .v = {}, .queryPosition = positions, .keyPosition = positions};
}

std::unique_ptr<GpuExecutor> LongPatternView::prepared(const std::shared_ptr<Graph>& graph,
                                                       const std::map<std::string, Tensor>& outputs) const {
    auto step = std::make_unique<GpuExecutor>(device_, store_, compile(graph, outputs));
    step->input(kSlope)[0] = slope();
    return step;
}

StepParams LongPatternView::params(int64_t rows, int64_t at) const {
    StepParams params;
    params[StepScalar::QueryLength] = static_cast<uint32_t>(rows);
    params[StepScalar::CacheOffset] = static_cast<uint32_t>(at);
    params[StepScalar::KeyLength] = static_cast<uint32_t>(tokens_);
    return params;
}

GpuExecutor& LongPatternView::statisticsStep() {
    if (!statistics_) {
        const auto graph = std::make_shared<Graph>();
        const Tensor state = graph->state(stateName(kStatistics), {.shape = {source_.heads * source_.capacity, 4}});
        const Tensor view = graph->input(kRows, {.shape = {16}, .dtype = DType::I32});
        const Tensor band = lensStatistics(inputs(*graph), graph->input(kSlope, {.shape = {1}}), view, source_.rule,
                                           std::min(kQueriesOfBand, source_.capacity));
        statistics_ = prepared(graph, {{kStatistics, assign(state, band, StepScalar::CacheOffset)}});
    }
    return *statistics_;
}

GpuExecutor& LongPatternView::coarseStep(Pooling pooling, bool isFine) {
    return madeOnce(coarse_, {pooling, isFine}, [&] {
        const auto graph = std::make_shared<Graph>();
        const Tensor rows = graph->input(kRows, {.shape = {16}, .dtype = DType::I32});
        const Tensor view = graph->input(kView, {.shape = {16}, .dtype = DType::I32});
        const AttentionInputs in = inputs(*graph);
        const Tensor slope = graph->input(kSlope, {.shape = {1}});
        const Tensor band = lensStatistics(in, slope, rows, source_.rule, LongPatternRegion::kMostSide);
        const Tensor pixels = lensTile(in, slope, band, view, source_.rule, pooling, isFine,
                                       LongPatternRegion::kMostSide, LongPatternRegion::kMostSide);
        return prepared(graph, {{kPixels, pixels}});
    });
}

GpuExecutor& LongPatternView::tileStep(Pooling pooling, bool isFine) {
    return madeOnce(tiles_, {pooling, isFine}, [&] {
        const auto graph = std::make_shared<Graph>();
        const Tensor state = graph->state(stateName(kStatistics), {.shape = {source_.heads * source_.capacity, 4}});
        const Tensor view = graph->input(kView, {.shape = {16}, .dtype = DType::I32});
        const Tensor pixels = lensTile(inputs(*graph), graph->input(kSlope, {.shape = {1}}), state, view, source_.rule,
                                       pooling, isFine, kPixelRowsOfBand, LongPatternRegion::kMostSide);
        return prepared(graph, {{kPixels, pixels}});
    });
}

/// Reads the pixels of a band into the picture.
void LongPatternView::draw(GpuExecutor& executor, const LensBand& band, int firstPixelRow, int columns) {
    const std::span<const float> pixels = executor.result(kPixels);
    const auto stride = static_cast<size_t>(Shape{LongPatternRegion::kMostSide}.rowStride());
    for (int row = 0; row < band.rows(); ++row)
        std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * stride), columns,
                    picture_.pixels.begin() + static_cast<std::ptrdiff_t>(firstPixelRow + row) * picture_.view.columns);
    if (onDevice_) onDevice_->take(executor.deviceResult(kPixels), band.rows(), columns, firstPixelRow);
}

/// Draws one query per pixel, with all keys.
void LongPatternView::drawCoarse() {
    const LongPatternRegion& view = picture_.view;
    const auto known = std::ranges::find(picture_.isExact, uint8_t{0}) - picture_.isExact.begin();
    const int64_t cells = int64_t{1} << view.level, first = (view.row + known) * cells + cells / 2;
    if (first >= tokens_) return;
    const int64_t rows = std::min<int64_t>(view.rows - known, (tokens_ - first + cells - 1) / cells);
    const int64_t visible = (tokens_ + cells - 1) / cells - view.column;
    if (visible <= 0) return;
    LensBand band{.firstRow = static_cast<int32_t>(first),
                  .rowStep = static_cast<int32_t>(cells),
                  .rowCount = static_cast<int32_t>(rows),
                  .firstKey = static_cast<int32_t>(view.column * cells),
                  .columnLevel = view.level,
                  .columns = static_cast<int32_t>(std::min<int64_t>(view.columns, visible)),
                  .setsOfLanes = sets_,
                  .firstSeen = hidesFirst_};
    gatherHead(view.head);
    GpuExecutor& executor = coarseStep(view.pooling, view.level < 2);
    write(executor, kRows, band.statisticsWords());
    write(executor, kView, band.tileWords());
    executor.run(params(rows, 0));
    draw(executor, band, static_cast<int>(known), band.columns);
    for (int64_t row = 0; row < rows; ++row)
        if (const auto weights = changedRows(view.head, first + row * cells); !weights.empty()) {
            PooledRow pooled(pixelsOf(view.column, view.columns, view.level, view.pooling));
            pooled.add(weights);
            writePixelRow(known + row, pooled.values());
        }
}

/// Computes the missing normalisers of some rows.
void LongPatternView::computeRowStatistics(int head, int64_t first, int64_t end) {
    gatherHead(head);
    std::vector<bool>& known = hasRowStatistics_[static_cast<size_t>(head)];
    while (first < end) {
        if (known[static_cast<size_t>(first)]) {
            ++first;
            continue;
        }
        const int64_t count = std::min(end - first, kQueriesOfBand);
        const LensBand band{.firstRow = static_cast<int32_t>(first),
                            .rowCount = static_cast<int32_t>(count),
                            .setsOfLanes = sets_,
                            .firstSeen = hidesFirst_};
        GpuExecutor& executor = statisticsStep();
        write(executor, kRows, band.statisticsWords());
        executor.run(params(count, head * source_.capacity + first));
        std::fill_n(known.begin() + first, count, true);
        first += count;
    }
}

/// Draws the next band. @return false if there is none left
bool LongPatternView::drawBand() {
    const LongPatternRegion& view = picture_.view;
    while (nextRow_ < view.rows && picture_.isExact[static_cast<size_t>(nextRow_)] != 0) ++nextRow_;
    if (nextRow_ >= view.rows || tokens_ == 0) return false;
    const Clock::time_point start = Clock::now();
    const int64_t cells = int64_t{1} << view.level, firstQuery = (view.row + nextRow_) * cells;
    // The largest number of keys that these rows see, for their normalisers and then for the picture.
    const double keys = 2.0 * static_cast<double>(source_.rule.causal ? firstQuery + cells : tokens_);
    const auto fitting = static_cast<int64_t>(cellsPerMs_ * kBandMs / std::max(keys, 1.0)) / cells;
    int64_t pixelRows =
        std::clamp<int64_t>(fitting, 1, std::clamp<int64_t>(kQueriesOfBand / cells, 1, kPixelRowsOfBand));
    pixelRows = std::min<int64_t>({pixelRows, view.rows - nextRow_, (tokens_ - firstQuery + cells - 1) / cells});
    int64_t unsetRows = 0; // rows before the first one that changes set
    while (unsetRows < pixelRows && !isChangedIn(nextRow_ + unsetRows)) ++unsetRows;
    const int64_t queries = std::min(unsetRows * cells, tokens_ - firstQuery);
    if (unsetRows > 0)
        drawOwn(queries);
    else
        drawChanged(nextRow_);
    pixelRows = std::max<int64_t>(unsetRows, 1);
    std::fill_n(picture_.isExact.begin() + nextRow_, pixelRows, uint8_t{1});
    nextRow_ += static_cast<int>(pixelRows);
    const double took = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (took > 1 && unsetRows > 0) cellsPerMs_ = (cellsPerMs_ + static_cast<double>(queries) * keys / took) / 2;
    return true;
}

/// Draws the next rows of pixels from queries and keys.
void LongPatternView::drawOwn(int64_t queries) {
    const LongPatternRegion& view = picture_.view;
    const int64_t cells = int64_t{1} << view.level, firstQuery = (view.row + nextRow_) * cells;
    computeRowStatistics(view.head, firstQuery, firstQuery + queries);
    const int64_t visible = (tokens_ + cells - 1) / cells - view.column;
    if (visible <= 0) return;
    const LensBand band{.firstRow = static_cast<int32_t>(firstQuery),
                        .rowLevel = view.level,
                        .rowCount = static_cast<int32_t>(queries),
                        .firstKey = static_cast<int32_t>(view.column * cells),
                        .columnLevel = view.level,
                        .columns = static_cast<int32_t>(std::min<int64_t>(view.columns, visible)),
                        .statistics = static_cast<int32_t>(view.head * source_.capacity + firstQuery),
                        .setsOfLanes = sets_,
                        .firstSeen = hidesFirst_};
    GpuExecutor& executor = tileStep(view.pooling, view.level < 2);
    write(executor, kView, band.tileWords());
    executor.run(params(queries, 0));
    draw(executor, band, nextRow_, band.columns);
}

// Rows that changes set -----------------------------------------------------------------------------------------------

std::vector<float> LongPatternView::changedRows(int head, int64_t query) const {
    return source_.changedRows ? source_.changedRows(head, query) : std::vector<float>{};
}

/// Whether a row of pixels covers a query whose row a change sets.
bool LongPatternView::isChangedIn(int64_t pixelRow) const {
    if (!source_.changedRows) return false;
    const LongPatternRegion& view = picture_.view;
    const int64_t first = (view.row + pixelRow) << view.level;
    for (int64_t query = first; query < std::min(first + (int64_t{1} << view.level), tokens_); ++query)
        if (!changedRows(view.head, query).empty()) return true;
    return false;
}

PooledRow::Pixels LongPatternView::pixelsOf(int64_t firstPixel, int64_t count, int level, Pooling pooling) const {
    return {.firstKey = firstPixel << level,
            .count = static_cast<int>(count),
            .level = level,
            .tokens = tokens_,
            .pooling = pooling,
            .hidesFirst = hidesFirst_};
}

/// Draws a row of pixels query by query. Rows that no change sets are the head's own.
void LongPatternView::drawChanged(int64_t pixelRow) {
    const LongPatternRegion view = picture_.view;
    const int64_t first = (view.row + pixelRow) << view.level;
    PooledRow pooled(pixelsOf(view.column, view.columns, view.level, view.pooling));
    for (int64_t query = first; query < std::min(first + (int64_t{1} << view.level), tokens_); ++query)
        if (const auto weights = changedRows(view.head, query); !weights.empty())
            pooled.add(weights);
        else
            pooled.addPooled(pixelsOfRow(view.head, query, view.level, view.column, view.columns, view.pooling));
    writePixelRow(pixelRow, pooled.values());
}

void LongPatternView::writePixelRow(int64_t pixelRow, std::span<const float> pixels) {
    std::ranges::copy(pixels, picture_.pixels.begin() + static_cast<std::ptrdiff_t>(pixelRow) * picture_.view.columns);
    if (onDevice_) onDevice_->writeRow(static_cast<int>(pixelRow), pixels);
}

std::vector<float> LongPatternView::row(int head, int64_t query, int level, Pooling pooling) {
    const int64_t cells = int64_t{1} << std::clamp(level, 0, LensBand::kMostLevel);
    return pixelsOfRow(head, query, level, 0, (tokens_ + cells - 1) / cells, pooling);
}

float LongPatternView::cell(int head, int64_t query, int64_t key) {
    if (key < 0 || key >= tokens_)
        throw Error({.what = fmt::format("there is no key {}", key),
                     .where = "long-pattern view",
                     .hint = fmt::format("keys are 0 to {}", tokens_ - 1)});
    return pixelsOfRow(head, query, 0, key, 1, Pooling::Maximum).front();
}

std::vector<float> LongPatternView::pixelsOfRow(int head, int64_t query, int level, int64_t firstPixel, int64_t count,
                                                Pooling pooling) {
    if (head < 0 || head >= source_.heads || query < 0 || query >= tokens_ || level < 0 || level > LensBand::kMostLevel)
        throw Error({.what = fmt::format("there is no row {} of head {} at level {}", query, head, level),
                     .where = "long-pattern view",
                     .hint = fmt::format("rows are 0 to {}, heads 0 to {}", tokens_ - 1, source_.heads - 1)});
    if (const std::vector<float> weights = changedRows(head, query); !weights.empty()) {
        PooledRow pooled(pixelsOf(firstPixel, count, level, pooling));
        pooled.add(weights);
        return pooled.values();
    }
    computeRowStatistics(head, query, query + 1);
    GpuExecutor& executor = tileStep(pooling, level < 2);
    std::vector<float> all;
    for (int64_t first = firstPixel; first < firstPixel + count; first += LongPatternRegion::kMostSide) {
        const int64_t columns = std::min<int64_t>(firstPixel + count - first, LongPatternRegion::kMostSide);
        const LensBand band{.firstRow = static_cast<int32_t>(query),
                            .rowCount = 1,
                            .firstKey = static_cast<int32_t>(first << level),
                            .columnLevel = level,
                            .columns = static_cast<int32_t>(columns),
                            .statistics = static_cast<int32_t>(head * source_.capacity + query),
                            .setsOfLanes = sets_,
                            .firstSeen = hidesFirst_};
        write(executor, kView, band.tileWords());
        executor.run(params(1, 0));
        const std::span<const float> pixels = executor.result(kPixels);
        all.insert(all.end(), pixels.begin(), pixels.begin() + columns);
    }
    return all;
}

uint64_t LongPatternView::deviceBytes() const {
    uint64_t bytes = onDevice_ ? onDevice_->bytes() : 0;
    for (const char* name : {kStatistics, kHeadQ, kHeadK, kPositions})
        if (store_.contains(stateName(name))) bytes += store_.entry(stateName(name)).byteSize;
    for (const auto* step : {&gatherStep_, &statistics_})
        if (*step) bytes += (*step)->deviceBytes();
    for (const auto* steps : {&coarse_, &tiles_})
        for (const auto& [key, step] : *steps) bytes += step->deviceBytes();
    return bytes;
}

} // namespace attn
