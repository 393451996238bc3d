#include "engine/inference/head_profiler.h"

#include "engine/core/made_once.h"
#include "engine/ops/tensor_ops.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kRows = 256, kColumns = 1024; ///< queries in a band; pixels in a row
constexpr int kRowLevel = 4;                    ///< log2 of the queries per pixel: sixteen
constexpr const char *kStatistics = "profile.statistics", *kView = "view", *kSlopes = "slopes";
constexpr const char *kDistances = "distances", *kPixels = "pixels";

/// The states of a source in a graph, and the other inputs of the kernels of the long-pattern view.
struct ProfileInputs {
    std::shared_ptr<Graph> graph = std::make_shared<Graph>();
    AttentionInputs in;
    Tensor slopes, statistics;

    explicit ProfileInputs(const LongPatternSource& source) {
        const auto cache = [&](const std::string& name, int64_t heads) {
            return graph->state(name,
                                {.shape = {source.capacity, heads, source.width}, .liveRows = StepScalar::KeyLength});
        };
        const Tensor positions = graph->state(
            source.positions, {.shape = {source.capacity}, .dtype = DType::I32, .liveRows = StepScalar::KeyLength});
        in = {.q = cache(source.q, source.heads),
              .k = cache(source.k, source.groups),
              .v = {},
              .queryPosition = positions,
              .keyPosition = positions};
        slopes = graph->input(kSlopes, {.shape = {source.heads}});
        statistics = graph->state(kStatistics, {.shape = {kRows, 4}});
    }
    Tensor words(const char* name) const { return graph->input(name, {.shape = {16}, .dtype = DType::I32}); }
};

void write(GpuExecutor& executor, const char* input, const std::array<int32_t, 16>& words) {
    std::ranges::copy(words, executor.inputIntegers(input).begin());
}

void writeSlopes(GpuExecutor& executor, const LongPatternSource& source) {
    std::ranges::fill(executor.input(kSlopes), 0.0f);
    std::ranges::copy(source.slopes, executor.input(kSlopes).begin());
}

StepParams params(int64_t queries, int64_t keys) {
    StepParams params;
    params[StepScalar::QueryLength] = static_cast<uint32_t>(queries);
    params[StepScalar::KeyLength] = static_cast<uint32_t>(keys);
    return params;
}

} // namespace

void keepLargest(std::vector<HeadProfile::Cell>& cells, const HeadProfile::Cell& cell) {
    const auto isLarger = [](const HeadProfile::Cell& a, const HeadProfile::Cell& b) { return a.weight > b.weight; };
    if (cell.weight <= 0 || (cells.size() == HeadProfiler::kLargest && !isLarger(cell, cells.back()))) return;
    if (cells.size() == HeadProfiler::kLargest) cells.pop_back();
    cells.insert(std::ranges::upper_bound(cells, cell, isLarger), cell);
}

HeadProfiler::HeadProfiler(Device& device, TensorStore& store, LongPatternSource source)
    : device_(device), store_(store), source_(std::move(source)), sets_(lensSets(device.kernelTraits())) {
    store_.reserve({{kStatistics, {kRows, 4}}});
}

HeadProfiler::~HeadProfiler() = default;

void HeadProfiler::begin(int layer, int head, int64_t tokens, const Region& region) {
    region_ = region;
    tokens_ = tokens;
    next_ = 0;
    level_ = 0;
    while ((tokens + (int64_t{1} << level_) - 1) >> level_ > kColumns) ++level_;
    const auto pixels = static_cast<size_t>((tokens + (int64_t{1} << level_) - 1) >> level_);
    candidates_.clear();
    changedRows_.clear();
    received_.assign(pixels, 0);
    distances_.assign(kDistanceBins, 0);
    profile_ = {.site = layer,
                .head = head,
                .keysOfPlace = 1 << level_,
                .received = std::vector<float>(pixels, 0),
                .distances = std::vector<float>(kDistanceBins, 0),
                .largest = {},
                .exactRows = tokens > 0 ? 0.0f : 1.0f};
}

bool HeadProfiler::work(double milliseconds) {
    const Clock::time_point start = Clock::now();
    while (next_ < tokens_) {
        if (const std::vector<float> weights = changedRow(next_); !weights.empty()) {
            addChanged(next_++, weights);
        } else {
            int64_t rows = 1; // consecutive rows that no change sets
            while (rows < std::min(kRows, tokens_ - next_) && changedRow(next_ + rows).empty()) ++rows;
            addOwn(next_, rows);
            next_ += rows;
        }
        if (std::chrono::duration<double, std::milli>(Clock::now() - start).count() >= milliseconds) break;
    }
    if (profile_.exactRows >= 1) return false;
    for (size_t i = 0; i < received_.size(); ++i) profile_.received[i] = static_cast<float>(received_[i]);
    for (size_t i = 0; i < distances_.size(); ++i)
        profile_.distances[i] = static_cast<float>(distances_[i] / static_cast<double>(next_));
    if (next_ < tokens_) {
        profile_.exactRows = static_cast<float>(next_) / static_cast<float>(tokens_);
        return true;
    }
    resolve();
    profile_.exactRows = 1;
    return false;
}

GpuExecutor& HeadProfiler::bandStep() {
    if (!band_) {
        const ProfileInputs inputs(source_);
        const Tensor view = inputs.words(kView);
        const Tensor statistics = lensStatistics(inputs.in, inputs.slopes, view, source_.rule, kRows);
        const Tensor kept = assign(inputs.statistics, statistics, StepScalar::CacheOffset);
        const Tensor distances = lensDistances(inputs.in, inputs.slopes, kept, view, source_.rule, kRows);
        band_ = std::make_unique<GpuExecutor>(
            device_, store_,
            compile(inputs.graph, std::map<std::string, Tensor>{{kStatistics, kept}, {kDistances, distances}}));
        writeSlopes(*band_, source_);
    }
    return *band_;
}

GpuExecutor& HeadProfiler::tileStep(Pooling pooling, bool isFine) {
    return madeOnce(tiles_, {pooling, isFine}, [&] {
        const ProfileInputs inputs(source_);
        const Tensor pixels = lensTile(inputs.in, inputs.slopes, inputs.statistics, inputs.words(kView), source_.rule,
                                       pooling, isFine, kRows, kColumns);
        auto step = std::make_unique<GpuExecutor>(
            device_, store_, compile(inputs.graph, std::map<std::string, Tensor>{{kPixels, pixels}}));
        writeSlopes(*step, source_);
        return step;
    });
}

std::vector<float> HeadProfiler::changedRow(int64_t query) const {
    return source_.changedRows ? source_.changedRows(profile_.head, query) : std::vector<float>{};
}

void HeadProfiler::addChanged(int64_t query, std::span<const float> weights) {
    for (int64_t key = 0; key < static_cast<int64_t>(weights.size()); ++key) {
        const float weight = weights[static_cast<size_t>(key)];
        const int64_t place = key >> level_, cells = std::min(int64_t{1} << level_, tokens_ - (place << level_));
        received_[static_cast<size_t>(place)] += static_cast<double>(weight) / static_cast<double>(cells);
        distances_[std::bit_width(static_cast<uint64_t>(std::abs(query - key)))] += static_cast<double>(weight);
        if (query >= region_.queryBegin && query < region_.queryEnd && key >= region_.keyBegin && key < region_.keyEnd)
            keepLargest(changedRows_,
                        {.query = static_cast<int>(query), .key = static_cast<int>(key), .weight = weight});
    }
}

void HeadProfiler::addOwn(int64_t first, int64_t rows) {
    runBand(first, rows);
    const std::span<const float> means = drawReceived(first, rows);
    addCandidates(first, rows); // draws too: from here on nothing fails, so that no row counts twice
    addReceived(means, rows);
    const std::span<const float> distances = band_->result(kDistances); // [rows / 16, bins]
    const auto stride = static_cast<size_t>(band_->plan().result(kDistances).type.shape.rowStride());
    for (size_t at = 0; at < static_cast<size_t>((rows + 15) / 16); ++at)
        for (size_t bin = 0; bin < distances_.size(); ++bin)
            distances_[bin] += static_cast<double>(distances[at * stride + bin]);
}

/// Computes the normalisers and distances of some rows.
void HeadProfiler::runBand(int64_t first, int64_t rows) {
    GpuExecutor& executor = bandStep();
    write(executor, kView,
          LensBand{.head = profile_.head,
                   .firstRow = static_cast<int32_t>(first),
                   .rowCount = static_cast<int32_t>(rows),
                   .setsOfLanes = sets_}
              .statisticsWords());
    executor.run(params(rows, tokens_));
}

/// Pools the rows of the last runBand(). @param keys number of leading keys that count  @return [kRows, kColumns]
std::span<const float> HeadProfiler::drawTile(Pooling pooling, LensBand band, int64_t keys) {
    band.head = profile_.head;
    band.setsOfLanes = sets_;
    GpuExecutor& executor = tileStep(pooling, band.columnLevel < 2);
    write(executor, kView, band.tileWords());
    executor.run(params(tokens_, keys));
    return executor.result(kPixels);
}

/// The mean weight of each key, by sixteen queries.
std::span<const float> HeadProfiler::drawReceived(int64_t first, int64_t rows) {
    return drawTile(Pooling::Mean,
                    {.firstRow = static_cast<int32_t>(first),
                     .rowLevel = kRowLevel,
                     .rowCount = static_cast<int32_t>(rows),
                     .columnLevel = level_,
                     .columns = static_cast<int32_t>(received_.size())},
                    tokens_);
}

void HeadProfiler::addReceived(std::span<const float> means, int64_t rows) {
    for (int64_t y = 0; y << kRowLevel < rows; ++y) {
        const int64_t queries = std::min(int64_t{1} << kRowLevel, rows - (y << kRowLevel));
        for (size_t x = 0; x < received_.size(); ++x)
            received_[x] +=
                static_cast<double>(queries) * static_cast<double>(means[static_cast<size_t>(y * kColumns) + x]);
    }
}

void HeadProfiler::addCandidates(int64_t first, int64_t rows) {
    const int64_t begin = std::max(first, region_.queryBegin), end = std::min(first + rows, region_.queryEnd);
    const int64_t columns = (region_.keyEnd - region_.keyBegin + (int64_t{1} << level_) - 1) >> level_;
    if (begin >= end || columns < 1) return;
    const std::span<const float> most = drawTile(Pooling::Maximum,
                                                 {.firstRow = static_cast<int32_t>(begin),
                                                  .rowLevel = kRowLevel,
                                                  .rowCount = static_cast<int32_t>(end - begin),
                                                  .firstKey = static_cast<int32_t>(region_.keyBegin),
                                                  .columnLevel = level_,
                                                  .columns = static_cast<int32_t>(columns),
                                                  .statistics = static_cast<int32_t>(begin - first)},
                                                 region_.keyEnd);
    for (int64_t y = 0; y << kRowLevel < end - begin; ++y)
        for (int64_t x = 0; x < columns; ++x)
            keepLargest(candidates_, {.query = static_cast<int>(begin + (y << kRowLevel)),
                                      .key = static_cast<int>(region_.keyBegin + (x << level_)),
                                      .weight = most[static_cast<size_t>(y * kColumns + x)]});
}

/// Finds the largest cells. They are in the kLargest pixels with the largest maxima, because each of these pixels has a
/// cell that is at least as large as every cell of the other pixels.
void HeadProfiler::resolve() {
    profile_.largest = changedRows_;
    for (const HeadProfile::Cell& pixel : candidates_) {
        const int64_t rows = std::min<int64_t>(int64_t{1} << kRowLevel, region_.queryEnd - pixel.query);
        const int64_t columns = std::min<int64_t>(int64_t{1} << level_, region_.keyEnd - pixel.key);
        runBand(pixel.query, rows);
        const std::span<const float> cells = drawTile(Pooling::Maximum,
                                                      {.firstRow = pixel.query,
                                                       .rowCount = static_cast<int32_t>(rows),
                                                       .firstKey = pixel.key,
                                                       .columns = static_cast<int32_t>(columns)},
                                                      region_.keyEnd);
        for (int64_t y = 0; y < rows; ++y) {
            if (!changedRow(pixel.query + y).empty()) continue;
            for (int64_t x = 0; x < columns; ++x) {
                const HeadProfile::Cell cell{.query = static_cast<int>(pixel.query + y),
                                             .key = static_cast<int>(pixel.key + x),
                                             .weight = cells[static_cast<size_t>(y * kColumns + x)]};
                const auto isSame = [&](const HeadProfile::Cell& other) {
                    return other.query == cell.query && other.key == cell.key;
                };
                // The last pixel of a band may have fewer than sixteen queries; the next query starts another pixel.
                if (std::ranges::none_of(profile_.largest, isSame)) keepLargest(profile_.largest, cell);
            }
        }
    }
}

} // namespace attn
