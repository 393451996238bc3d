#include "engine/host/pattern.h"

#include "engine/host/elementwise.h"
#include "engine/host/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace attn::host {
namespace {

constexpr int64_t kQueries = 64, kKeys = 512; // of a block, whose scores stay in the cache
constexpr float kLog2E = std::numbers::log2e_v<float>;

/// Calls visit(keys, scores) for the blocks of keys in a range that at least one of the queries sees.
/// @param scores of kQueries rows, kKeys apart
template <typename Visit>
void overKeys(const Attention& of, ScoreBlock block, Rows range, float* scores, const Visit& visit) {
    const Rows at =
        positionsOf(of.queryPosition, {block.query, block.query + (block.queries - 1) * block.step + 1}, block.step);
    const Rows first = keysFor(of, block.query), last = keysFor(of, block.query + (block.queries - 1) * block.step);
    for (int64_t s = range.begin; s < range.end; s += kKeys) {
        block.keys = {s, std::min(s + kKeys, range.end)};
        if (block.keys.end <= first.begin || block.keys.begin >= last.end) continue;
        const Sight sight = sightOf(of, at, block.keys);
        if (sight == Sight::Nothing) continue;
        steadyScores(of, block, sight, scores, kKeys);
        visit(block.keys);
    }
}

/// The rows of a band that exist.
int64_t rowsOf(const Attention& of, const Band& band) {
    const int64_t left = of.T - band.firstRow;
    return left <= 0 ? 0 : std::min(band.rowCount, (left + band.rowStep - 1) / band.rowStep);
}

/// The maximum and the sum of the exponentials of each row of a block.
void statisticsOf(const Attention& of, const ScoreBlock& block, float* maxima, float* sums) {
    float* scores = scratch(kQueries * kKeys, 0);
    std::fill_n(maxima, block.queries, kLeastMaximum);
    std::fill_n(sums, block.queries, 0.0f);
    overKeys(of, block, {0, of.S}, scores, [&](Rows keys) {
        for (int64_t row = 0; row < block.queries; ++row)
            advance(keys.count(), scores + row * kKeys, &maxima[row], &sums[row]);
    });
}

} // namespace

void attentionScores(const Attention& of, int64_t columns, float* scores, Pool& pool) {
    const int64_t stride = (columns + 3) / 4 * 4, blocks = (of.capacity + kQueries - 1) / kQueries;
    pool.run(of.H * blocks, [&](int64_t i) {
        const int64_t head = i / blocks, first = i % blocks * kQueries;
        const int64_t rows = std::min(kQueries, of.capacity - first), live = std::clamp<int64_t>(of.T - first, 0, rows);
        float* out = scores + (head * of.capacity + first) * stride;
        const auto hide = [&](int64_t begin, int64_t end, Rows keys) {
            for (int64_t row = begin; row < end; ++row)
                std::fill(out + row * stride + keys.begin, out + row * stride + keys.end, kHiddenScore);
        };
        for (int64_t row = 0; row < rows; ++row)
            std::fill(out + row * stride + columns, out + (row + 1) * stride, 0.0f);
        hide(live, rows, {0, columns});
        hide(0, live, {of.S, columns});
        if (live == 0) return;
        const Rows at = positionsOf(of.queryPosition, {first, first + live});
        for (int64_t s = 0; s < of.S; s += kKeys) {
            const Rows keys{s, std::min(s + kKeys, of.S)};
            const Sight sight = sightOf(of, at, keys);
            if (sight == Sight::Nothing)
                hide(0, live, keys);
            else {
                float* block = scratch(kQueries * kKeys, 0);
                steadyScores(of, {.head = head, .query = first, .queries = live, .keys = keys}, sight, block, kKeys);
                for (int64_t row = 0; row < live; ++row)
                    std::copy_n(block + row * kKeys, keys.count(), out + row * stride + s);
            }
        }
    });
}

void rowStatistics(const Attention& of, Rows queries, float* statistics, Pool& pool) {
    const Rows rows{std::max<int64_t>(queries.begin, 0), std::min(queries.end, of.T)};
    if (rows.count() <= 0) return;
    const int64_t blocks = (rows.count() + kQueries - 1) / kQueries;
    pool.run(of.H * blocks, [&](int64_t i) {
        const int64_t head = i / blocks, first = rows.begin + i % blocks * kQueries;
        float maxima[kQueries], sums[kQueries];
        const int64_t count = std::min(kQueries, rows.end - first);
        statisticsOf(of, {.head = head, .query = first, .queries = count}, maxima, sums);
        for (int64_t row = 0; row < count; ++row) {
            float* to = statistics + (head * of.capacity + first + row) * 4;
            to[0] = sums[row] > 0 ? maxima[row] : 0;
            to[1] = sums[row] > 0 ? 1 / sums[row] : 0;
            to[2] = to[3] = 0;
        }
    });
}

void patternTile(const Attention& of, const PatternTile& tile, float* pixels, Pool& pool) {
    const auto beginOf = [](int64_t pixel, int64_t count, Rows range) {
        return range.begin + pixel * range.count() / count;
    };
    const int64_t rows = std::min(tile.rows, tile.size), columns = std::min(tile.columns, tile.size);
    const Rows keys{tile.keys.begin, std::min(tile.keys.end, of.S)};
    /// Rows of pixels that are drawn together, of about as many queries as a block has.
    const int64_t together = std::clamp<int64_t>(kQueries * tile.rows / std::max<int64_t>(tile.queries.count(), 1), 1,
                                                 std::max<int64_t>(rows, 1));
    const int64_t items = (tile.size + together - 1) / together;
    pool.run(tile.heads * items, [&](int64_t i) {
        const int64_t picture = i / items, first = i % items * together;
        for (int64_t y = first; y < std::min(first + together, tile.size); ++y)
            std::fill_n(pixels + (picture * tile.size + y) * tile.stride, tile.stride, 0.0f);
        const int64_t end = std::min(first + together, rows);
        if (first >= end || keys.count() <= 0) return;
        const bool isEach = tile.of == PatternTile::Each;
        const int64_t head = isEach ? tile.firstHead + picture : 0, headEnd = isEach ? head + 1 : of.H;
        float *scores = scratch(kQueries * kKeys, 0), *cells = scratch(kQueries * kKeys, 1),
              *pooled = scratch(static_cast<size_t>(together * kKeys), 2);
        const int64_t lastQuery = std::min(beginOf(end, tile.rows, tile.queries), of.T);
        for (int64_t s = keys.begin; s < keys.end; s += kKeys) {
            const Rows range{s, std::min(s + kKeys, keys.end)};
            std::fill_n(pooled, together * kKeys, 0.0f);
            int64_t y = first;
            for (int64_t t = beginOf(first, tile.rows, tile.queries); t < lastQuery; t += kQueries) {
                const int64_t count = std::min(kQueries, lastQuery - t);
                std::fill_n(cells, count * kKeys, 0.0f);
                for (int64_t h = head; h < headEnd; ++h)
                    overKeys(of, {.head = h, .query = t, .queries = count}, range, scores, [&](Rows) {
                        for (int64_t row = 0; row < count; ++row) {
                            const float* statistics = tile.statistics + (h * of.capacity + t + row) * 4;
                            const float share = tile.of == PatternTile::Mean ? 1 / static_cast<float>(of.H) : 1;
                            float *own = scores + row * kKeys, *cell = cells + row * kKeys;
                            if (tile.of == PatternTile::Mean) {
                                addWeights(range.count(), statistics[0], statistics[1] * share, own, cell);
                            } else {
                                weigh(range.count(), statistics[0], statistics[1], own);
                                keepLargest(range.count(), 0, 0, own, cell);
                            }
                        }
                    });
                for (int64_t row = 0; row < count; ++row) {
                    while (t + row >= beginOf(y + 1, tile.rows, tile.queries)) ++y;
                    keepLargest(range.count(), 0, 0, cells + row * kKeys, pooled + (y - first) * kKeys);
                }
            }
            for (int64_t row = first; row < end; ++row) {
                float* out = pixels + (picture * tile.size + row) * tile.stride;
                const float* from = pooled + (row - first) * kKeys - s;
                for (int64_t x = 0; x < columns; ++x)
                    for (int64_t key = std::max(beginOf(x, tile.columns, tile.keys), s);
                         key < std::min(beginOf(x + 1, tile.columns, tile.keys), range.end); ++key)
                        out[x] = std::max(out[x], from[key]);
            }
        }
    });
}

void bandStatistics(const Attention& of, const Band& band, float* statistics, Pool& pool) {
    const int64_t live = rowsOf(of, band), blocks = (band.rowCount + kQueries - 1) / kQueries;
    pool.run(band.heads * blocks, [&](int64_t i) {
        const int64_t head = i / blocks, first = i % blocks * kQueries;
        const int64_t rows = std::min(kQueries, band.rowCount - first),
                      count = std::clamp<int64_t>(live - first, 0, rows);
        float* to = statistics + (head * band.statisticsOfHead + first) * 4;
        std::fill_n(to, rows * 4, 0.0f);
        if (count == 0) return;
        float maxima[kQueries], sums[kQueries];
        statisticsOf(of,
                     {.head = band.firstHead + head,
                      .query = band.firstRow + first * band.rowStep,
                      .step = band.rowStep,
                      .queries = count},
                     maxima, sums);
        for (int64_t row = 0; row < count; ++row, to += 4)
            if (sums[row] > 0) {
                to[0] = maxima[row] * kLog2E;
                to[1] = 1 / sums[row];
            }
    });
}

void bandPixels(const Attention& of, const Band& band, const Pixels& how, const float* statistics, float* pixels,
                Pool& pool) {
    const int64_t live = rowsOf(of, band), height = int64_t{1} << how.rowLevel, width = int64_t{1} << how.columnLevel;
    const int64_t rows = (band.rowCount + height - 1) / height; // rows of pixels
    const int64_t together = std::clamp<int64_t>(kQueries / height, 1, kQueries),
                  items = (rows + together - 1) / together;
    const Rows all{how.firstKey, std::min(how.firstKey + how.columns * width, of.S)};
    pool.run(band.heads * items, [&](int64_t i) {
        const int64_t head = i / items, first = i % items * together, end = std::min(first + together, rows);
        for (int64_t y = first; y < end; ++y)
            std::fill_n(pixels + (head * how.rowsOfHead + y) * how.stride, how.columns, 0.0f);
        float *scores = scratch(kQueries * kKeys, 0), *pooled = scratch(static_cast<size_t>(together * kKeys), 1);
        const int64_t lastRow = std::min(end * height, live);
        // The largest weight is the exponential of the largest score, so the exponential is computed once per pixel.
        const float nothing = how.isMean ? 0 : kHiddenScore;
        for (int64_t s = all.begin; s < all.end; s += kKeys) {
            const Rows range{s, std::min(s + kKeys, all.end)};
            std::fill_n(pooled, together * kKeys, nothing);
            for (int64_t r = first * height; r < lastRow; r += kQueries) {
                const int64_t count = std::min(kQueries, lastRow - r);
                const ScoreBlock block{.head = band.firstHead + head,
                                       .query = band.firstRow + r * band.rowStep,
                                       .step = band.rowStep,
                                       .queries = count};
                overKeys(of, block, range, scores, [&](Rows) {
                    for (int64_t row = 0; row < count; ++row) {
                        const float* given =
                            statistics +
                            (head * band.statisticsOfHead + band.statistics + (r + row) * band.statisticsStep) * 4;
                        float *own = scores + row * kKeys, *to = pooled + ((r + row) / height - first) * kKeys;
                        if (given[1] <= 0) continue; // it sees no key
                        const float maximum = given[0] / kLog2E;
                        if (how.isMean)
                            addWeights(range.count(), maximum, given[1], own, to);
                        else
                            keepLargest(range.count(), maximum, std::log(given[1]), own,
                                        to); // minus the maximum first, for accuracy
                    }
                });
            }
            for (int64_t y = first; y < end; ++y) {
                float* out = pixels + (head * how.rowsOfHead + y) * how.stride + (s - all.begin) / width;
                const float* from = pooled + (y - first) * kKeys;
                for (int64_t key = 0; key < range.count(); key += width, ++out) {
                    const int64_t count = std::min(width, range.count() - key);
                    float value = from[key];
                    if (count >= 16)
                        value = how.isMean ? total(count, from + key) : reduceLines(true, 1, count, from + key);
                    else
                        for (int64_t k = 1; k < count; ++k)
                            value = how.isMean ? value + from[key + k] : std::max(value, from[key + k]);
                    *out = how.isMean ? value : std::exp(value);
                }
            }
        }
        if (!how.isMean) return;
        for (int64_t y = first; y < end; ++y) {
            float* out = pixels + (head * how.rowsOfHead + y) * how.stride;
            for (int64_t x = 0; x < how.columns; ++x) {
                const int64_t key = how.firstKey + x * width;
                const int64_t cells = (std::min(band.rowCount, (y + 1) * height) - y * height) *
                                      (std::min(key + width, of.S) - std::max(key, of.firstSeen));
                out[x] = cells > 0 ? out[x] / static_cast<float>(cells) : 0;
            }
        }
    });
}

void bandDistances(const Attention& of, const Band& band, int64_t rowsOfSet, int64_t bins, const float* statistics,
                   float* weights, Pool& pool) {
    const int64_t live = rowsOf(of, band);
    pool.run((band.rowCount + rowsOfSet - 1) / rowsOfSet, [&](int64_t set) {
        float *scores = scratch(kQueries * kKeys, 0), *out = weights + set * bins;
        std::fill_n(out, bins, 0.0f);
        const int64_t first = set * rowsOfSet, count = std::min(rowsOfSet, live - first);
        if (count <= 0) return;
        const ScoreBlock block{.head = band.firstHead,
                               .query = band.firstRow + first * band.rowStep,
                               .step = band.rowStep,
                               .queries = count};
        overKeys(of, block, {0, of.S}, scores, [&](Rows keys) {
            const int32_t* positions = of.keyPosition + keys.begin;
            bool isConsecutive = true;
            for (int64_t s = 1; s < keys.count(); ++s)
                isConsecutive = isConsecutive && positions[s] == positions[0] + s;
            for (int64_t row = 0; row < count; ++row) {
                const float* given = statistics + (band.statistics + (first + row) * band.statisticsStep) * 4;
                float* own = scores + row * kKeys;
                weigh(keys.count(), given[0] / kLog2E, given[1], own);
                const int64_t at = of.queryPosition[block.query + row * block.step];
                const auto binOf = [&](int64_t s) {
                    return static_cast<int>(std::bit_width(static_cast<uint64_t>(std::abs(at - positions[s]))));
                };
                if (!isConsecutive) {
                    for (int64_t s = 0; s < keys.count(); ++s) out[binOf(s)] += own[s];
                    continue;
                }
                for (int64_t s = 0; s < keys.count();) { // the keys of a bin are adjacent
                    const int bin = binOf(s);
                    const int64_t distance = positions[s] - at, farthest = (int64_t{1} << bin) - 1;
                    const int64_t nearest = bin == 0 ? 0 : int64_t{1} << (bin - 1);
                    const int64_t end = std::min(s + (distance < 0 ? -nearest : farthest) - distance + 1, keys.count());
                    out[bin] += total(end - s, own + s);
                    s = end;
                }
            }
        });
    });
}

} // namespace attn::host
