#include "engine/host/tiles.h"

#include "engine/host/elementwise.h"
#include "engine/host/product.h"
#include "engine/host/reduce.h"
#include "engine/host/scores.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace attn::host {
namespace {

constexpr int64_t kTileQueries = 8, kTileKeys = 32;
constexpr int64_t kTiles = 8;                                    // rows of tiles that are computed together, at most
constexpr int64_t kQueries = kTiles * kTileQueries, kKeys = 128; // of a block, whose scores stay in the cache

/// Rows of tiles that are computed together.
struct TileRows {
    int64_t first = 0, count = 0;
};

/// The tiles of one head.
struct TileList {
    const TileAttention& of;
    const float* begins;

    TileList(const TileAttention& all, int64_t head) : of(all), begins(all.begins + head * all.beginsStride) {}
    int64_t begin(int64_t row) const { return static_cast<int64_t>(begins[row]); }
    int64_t column(int64_t tile) const { return static_cast<int64_t>(of.tiles[2 * tile]); }
    int64_t bits(int64_t tile) const { return static_cast<int64_t>(of.tiles[2 * tile + 1]); }

    /// The columns in which some of the rows have a tile, in order.
    void columns(TileRows rows, std::vector<int64_t>& result) const {
        result.clear();
        for (int64_t tile = begin(rows.first); tile < begin(rows.first + rows.count); ++tile)
            result.push_back(column(tile));
        std::ranges::sort(result);
        result.erase(std::ranges::unique(result).begin(), result.end());
    }
};

/// Splits the rows of tiles so that those of a part have most of their tiles in the same columns: a product covers
/// every row in all of the part's columns.
void split(const TileList& list, TileRows rows, std::vector<int64_t>& columns, std::vector<TileRows>& parts) {
    list.columns(rows, columns);
    const int64_t tiles = list.begin(rows.first + rows.count) - list.begin(rows.first);
    const auto covered = static_cast<int64_t>(columns.size()) * rows.count;
    if (rows.count == 1 || covered * 2 <= tiles * 3 || tiles == 0) {
        parts.push_back(rows);
        return;
    }
    const int64_t half = rows.count / 2;
    split(list, {rows.first, half}, columns, parts);
    split(list, {rows.first + half, rows.count - half}, columns, parts);
}

std::vector<TileRows> partsOf(const TileAttention& of, int64_t head) {
    const TileList list(of, head);
    const int64_t rows = (of.T + kTileQueries - 1) / kTileQueries;
    std::vector<TileRows> parts;
    std::vector<int64_t> columns;
    for (int64_t row = 0; row < rows; row += kTiles) split(list, {row, std::min(kTiles, rows - row)}, columns, parts);
    return parts;
}

/// Hides what a row of tiles does not see of some keys. @param scores of the row's first query, kKeys apart
void hideTiles(const TileList& list, int64_t row, Rows keys, int64_t queries, float* scores) {
    int64_t next = keys.begin; // the first key that no tile has shown yet
    const auto hide = [&](int64_t begin, int64_t end) {
        for (int64_t i = 0; i < queries && begin < end; ++i)
            std::fill(scores + i * kKeys + begin - keys.begin, scores + i * kKeys + end - keys.begin, kHiddenScore);
    };
    for (int64_t tile = list.begin(row); tile < list.begin(row + 1); ++tile) {
        const int64_t first = list.column(tile) * kTileKeys, end = std::min(first + kTileKeys, keys.end);
        if (first < keys.begin || first >= keys.end) continue;
        hide(next, first);
        next = end;
        if (list.bits(tile) == 0) continue; // it shows everything
        const float* halves = list.of.bits + list.bits(tile) * 16;
        for (int64_t i = 0; i < queries; ++i) {
            const uint32_t seen = static_cast<uint32_t>(halves[i]) | static_cast<uint32_t>(halves[i + kTileQueries])
                                                                         << 16;
            float* own = scores + i * kKeys + first - keys.begin;
            for (int64_t s = 0; s < end - first; ++s)
                if ((seen >> s & 1) == 0) own[s] = kHiddenScore;
        }
    }
    hide(next, keys.end);
}

/// Calls visit(keys) for the blocks of keys of which some of the rows see something, with their scores.
/// @param scores of kQueries rows, kKeys apart
template <typename Visit>
void overTiles(const TileAttention& of, int64_t b, int64_t head, TileRows rows, float* scores, const Visit& visit) {
    thread_local std::vector<int64_t> columns;
    const TileList list(of, head);
    list.columns(rows, columns);
    const int64_t group = b * of.G + head / (of.H / of.G), first = rows.first * kTileQueries,
                  queries = std::min(rows.count * kTileQueries, of.T - first);
    for (size_t i = 0; i < columns.size();) {
        size_t end = i + 1;
        while (end < columns.size() && columns[end] == columns[end - 1] + 1 &&
               static_cast<int64_t>(end - i) < kKeys / kTileKeys)
            ++end;
        const Rows keys{columns[i] * kTileKeys, std::min((columns[end - 1] + 1) * kTileKeys, of.S)};
        i = end;
        product({queries, keys.count(), of.D}, {of.q + ((b * of.H + head) * of.T + first) * of.stride, of.stride},
                {of.k + (group * of.S + keys.begin) * of.stride, of.stride, true}, scores, kKeys, of.scale);
        for (int64_t row = 0; row < queries && of.bias != nullptr; ++row) {
            float* own = scores + row * kKeys;
            add(keys.count(), own, of.bias + head * of.biasStride + keys.begin - first - row + of.T - 1, own);
        }
        for (int64_t row = 0; row < rows.count; ++row)
            hideTiles(list, rows.first + row, keys, std::min(kTileQueries, queries - row * kTileQueries),
                      scores + row * kTileQueries * kKeys);
        visit(keys);
    }
}

/// The rows of all heads, in parts for the threads.
struct Part {
    int64_t head = 0;
    TileRows rows{};
};
std::vector<Part> allParts(const TileAttention& of) {
    std::vector<Part> all;
    std::vector<TileRows> parts;
    for (int64_t head = 0; head < of.H; ++head) {
        if (head == 0 || of.beginsStride != 0) parts = partsOf(of, head);
        for (const TileRows& rows : parts) all.push_back({head, rows});
    }
    return all;
}

void attend(const TileAttention& of, int64_t b, const Part& part, float* z, float* statistics) {
    float *scores = scratch(kQueries * kKeys, 0), maxima[kQueries], sums[kQueries];
    std::fill_n(maxima, kQueries, kLeastMaximum);
    std::fill_n(sums, kQueries, 0.0f);
    const int64_t first = part.rows.first * kTileQueries,
                  queries = std::min(part.rows.count * kTileQueries, of.T - first),
                  query = (b * of.H + part.head) * of.T + first, group = b * of.G + part.head / (of.H / of.G);
    float* out = z + query * of.stride;
    std::fill_n(out, queries * of.stride, 0.0f);
    overTiles(of, b, part.head, part.rows, scores, [&](Rows keys) {
        for (int64_t row = 0; row < queries; ++row) {
            const float factor = advance(keys.count(), scores + row * kKeys, &maxima[row], &sums[row]);
            if (factor != 1) scale(of.D, factor, out + row * of.stride, out + row * of.stride);
        }
        product({queries, of.D, keys.count()}, {scores, kKeys},
                {of.v + (group * of.S + keys.begin) * of.stride, of.stride}, out, of.stride, 1, 1);
    });
    for (int64_t row = 0; row < queries; ++row) {
        const bool isSeen = sums[row] > 0;
        scale(of.D, isSeen ? 1 / sums[row] : 0, out + row * of.stride, out + row * of.stride);
        float* to = statistics + (query + row) * 4;
        to[0] = isSeen ? maxima[row] * std::numbers::log2e_v<float> : -1e20f;
        to[1] = isSeen ? 1 / sums[row] : 0;
        to[2] = to[3] = 0;
    }
}

/// The maxima of the scores of a part's rows. The statistics have them in powers of two; large ones, such as those of a
/// penalty, lose digits on the way and are found again.
/// @param statistics of the first row
void maximaOf(const TileAttention& of, int64_t b, const Part& part, int64_t queries, const float* statistics,
              float* maxima) {
    constexpr float kLarge = 1000;
    bool areExact = true;
    for (int64_t row = 0; row < queries; ++row) {
        const float* given = statistics + row * 4;
        maxima[row] = given[1] > 0 ? given[0] / std::numbers::log2e_v<float> : kLeastMaximum;
        areExact = areExact && (given[1] <= 0 || std::abs(given[0]) < kLarge);
    }
    if (areExact) return;
    std::fill_n(maxima, queries, kLeastMaximum);
    float* scores = scratch(kQueries * kKeys, 0);
    overTiles(of, b, part.head, part.rows, scores, [&](Rows keys) {
        for (int64_t row = 0; row < queries; ++row)
            maxima[row] = std::max(maxima[row], reduceLines(true, 1, keys.count(), scores + row * kKeys));
    });
}

/// Calls visit(keys, pattern, gradient of the scores, rows of q, first row of k) for the blocks of keys of a part.
/// @param statistics with z . dz as third number  @param factor of the gradient
template <typename Visit>
void overGradients(const TileAttention& of, int64_t b, const Part& part, const float* statistics, const float* dz,
                   float factor, const Visit& visit) {
    float *scores = scratch(kQueries * kKeys, 0), *products = scratch(kQueries * kKeys, 1);
    const int64_t first = part.rows.first * kTileQueries,
                  queries = std::min(part.rows.count * kTileQueries, of.T - first),
                  query = (b * of.H + part.head) * of.T + first, group = b * of.G + part.head / (of.H / of.G);
    float maxima[kQueries];
    maximaOf(of, b, part, queries, statistics + query * 4, maxima);
    overTiles(of, b, part.head, part.rows, scores, [&](Rows keys) {
        product({queries, keys.count(), of.D}, {dz + query * of.stride, of.stride},
                {of.v + (group * of.S + keys.begin) * of.stride, of.stride, true}, products, kKeys);
        for (int64_t row = 0; row < queries; ++row) {
            const float* given = statistics + (query + row) * 4;
            patternGradient(keys.count(), maxima[row], given[1], 1, given[2], factor, scores + row * kKeys,
                            products + row * kKeys);
        }
        visit(keys, scores, products, Rows{query, query + queries}, group * of.S + keys.begin);
    });
}

} // namespace

void tileAttention(const TileAttention& of, float* z, float* statistics, Pool& pool) {
    const std::vector<Part> parts = allParts(of);
    const auto count = static_cast<int64_t>(parts.size());
    pool.run(of.B * count, [&](int64_t i) {
        attend(of, i / count, parts[static_cast<size_t>(count - 1 - i % count)], z, statistics);
    });
}

/// The heads of a group, whose keys no other task writes, are one task.
void tileAttentionGradient(const TileAttention& of, const TileGradient& g, Pool& pool) {
    const std::vector<Part> parts = allParts(of);
    const int64_t heads = of.H / of.G;
    pool.run(of.B * of.G, [&](int64_t i) {
        const int64_t b = i / of.G, group = i % of.G, keys = i * of.S * of.stride,
                      first = (b * of.H + group * heads) * of.T;
        std::fill_n(g.dk + keys, of.S * of.stride, 0.0f);
        std::fill_n(g.dv + keys, of.S * of.stride, 0.0f);
        std::fill_n(g.dq + first * of.stride, heads * of.T * of.stride, 0.0f);
        for (int64_t row = first; row < first + heads * of.T; ++row) {
            std::copy_n(g.statistics + row * 4, 2, g.products + row * 4);
            g.products[row * 4 + 2] = dot(of.D, g.z + row * of.stride, g.dz + row * of.stride);
            g.products[row * 4 + 3] = 0;
        }
        for (const Part& part : parts) {
            if (part.head / heads != group) continue;
            overGradients(
                of, b, part, g.products, g.dz, of.scale,
                [&](Rows range, const float* pattern, const float* ds, Rows queries, int64_t key) {
                    const int64_t count = range.count(), rows = queries.count(), query = queries.begin * of.stride;
                    key *= of.stride;
                    product({count, of.D, rows}, {pattern, kKeys, true}, {g.dz + query, of.stride}, g.dv + key,
                            of.stride, 1, 1);
                    product({rows, of.D, count}, {ds, kKeys}, {of.k + key, of.stride}, g.dq + query, of.stride, 1, 1);
                    product({count, of.D, rows}, {ds, kKeys, true}, {of.q + query, of.stride}, g.dk + key, of.stride, 1,
                            1);
                });
        }
    });
}

void tileBiasGradient(const TileAttention& of, const float* products, const float* dz, float* dBias, Pool& pool) {
    const std::vector<Part> parts = allParts(of);
    pool.run(of.H, [&](int64_t head) {
        // Sums of unaligned vectors may touch a few floats after the row.
        float* out = scratch(static_cast<size_t>(of.biasStride) + 64, 2);
        std::fill_n(out, of.biasStride, 0.0f);
        for (int64_t b = 0; b < of.B; ++b)
            for (const Part& part : parts) {
                if (part.head != head) continue;
                overGradients(of, b, part, products, dz, 1,
                              [&](Rows range, const float*, const float* ds, Rows queries, int64_t) {
                                  const int64_t first = part.rows.first * kTileQueries;
                                  for (int64_t row = 0; row < queries.count(); ++row) {
                                      float* to = out + range.begin - first - row + of.T - 1;
                                      add(range.count(), to, ds + row * kKeys, to);
                                  }
                              });
            }
        std::copy_n(out, of.biasStride, dBias + head * of.biasStride);
    });
}

} // namespace attn::host
