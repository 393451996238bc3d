#include "engine/host/tiles.h"

#include "engine/host/elementwise.h"
#include "engine/host/fetch.h"
#include "engine/host/product.h"
#include "engine/host/reduce.h"
#include "engine/host/scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
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
};

/// The tiles of some rows of tiles, by column. Its time grows with the number of tiles and columns, never with their
/// square.
class TileTable {
public:
    void read(const TileList& list, TileRows rows) {
        const int64_t begin = list.begin(rows.first), end = list.begin(rows.first + rows.count);
        rows_ = rows.count;
        first_ = INT64_MAX;
        int64_t last = -1;
        for (int64_t tile = begin; tile < end; ++tile) {
            first_ = std::min(first_, list.column(tile));
            last = std::max(last, list.column(tile));
        }
        entries_.assign(static_cast<size_t>(end == begin ? 0 : (last - first_ + 1) * rows_), kNone);
        for (int64_t row = 0; row < rows_; ++row)
            for (int64_t tile = list.begin(rows.first + row); tile < list.begin(rows.first + row + 1); ++tile)
                entries_[place(row, list.column(tile))] = list.bits(tile);
        columns_.clear();
        for (size_t at = 0; at < entries_.size(); at += static_cast<size_t>(rows_)) {
            const auto column = entries_.begin() + static_cast<std::ptrdiff_t>(at);
            if (std::any_of(column, column + rows_, [](int64_t entry) { return entry != kNone; }))
                columns_.push_back(first_ + static_cast<int64_t>(at) / rows_);
        }
    }

    static constexpr int64_t kNone = -1;
    /// The columns in which some of the rows have a tile, in order.
    std::span<const int64_t> columns() const { return columns_; }
    /// The row of bits of a tile. @param row counted from the first  @param column an entry of columns()
    /// @return kNone if there is no tile
    int64_t bits(int64_t row, int64_t column) const { return entries_[place(row, column)]; }

private:
    size_t place(int64_t row, int64_t column) const { return static_cast<size_t>((column - first_) * rows_ + row); }

    int64_t first_ = 0, rows_ = 0;
    std::vector<int64_t> entries_; ///< the rows of each column
    std::vector<int64_t> columns_;
};

/// Splits rows of tiles into parts whose rows have most of their tiles in the same columns, because a product computes
/// every row in all columns of a part.
void split(const TileList& list, TileRows rows, TileTable& table, std::vector<TileRows>& parts) {
    table.read(list, rows);
    const int64_t tiles = list.begin(rows.first + rows.count) - list.begin(rows.first);
    const auto covered = static_cast<int64_t>(table.columns().size()) * rows.count;
    if (rows.count == 1 || covered * 2 <= tiles * 3 || tiles == 0) {
        parts.push_back(rows);
        return;
    }
    const int64_t half = rows.count / 2;
    split(list, {rows.first, half}, table, parts);
    split(list, {rows.first + half, rows.count - half}, table, parts);
}

std::vector<TileRows> partsOf(const TileAttention& of, int64_t head) {
    const TileList list(of, head);
    const int64_t rows = (of.T + kTileQueries - 1) / kTileQueries;
    std::vector<TileRows> parts;
    TileTable table;
    for (int64_t row = 0; row < rows; row += kTiles) split(list, {row, std::min(kTiles, rows - row)}, table, parts);
    return parts;
}

/// Keys of up to kKeys / kTileKeys columns of tiles, side by side.
struct KeyBlock {
    std::vector<int64_t> columns{};         ///< in order
    int64_t count = 0;                      ///< of keys
    const float *k = nullptr, *v = nullptr; ///< one after another; copies, if the columns do not follow one another

    bool isTogether() const { return columns.back() - columns.front() + 1 == static_cast<int64_t>(columns.size()); }
    /// Calls visit(first key, its place in the block, number of keys) for each run of adjacent keys.
    template <typename Visit> void overRuns(const Visit& visit) const {
        for (size_t i = 0; i < columns.size();) {
            size_t end = i + 1;
            while (end < columns.size() && columns[end] == columns[end - 1] + 1) ++end;
            const auto place = static_cast<int64_t>(i) * kTileKeys;
            visit(columns[i] * kTileKeys, place, std::min(static_cast<int64_t>(end) * kTileKeys, count) - place);
            i = end;
        }
    }
};

/// Hides the cells of a block that a row of tiles does not show. @param scores of the row's first query, kKeys apart
void hideTiles(const TileAttention& of, const TileTable& table, int64_t row, const KeyBlock& block, int64_t queries,
               float* scores) {
    for (size_t i = 0; i < block.columns.size(); ++i) {
        const int64_t bits = table.bits(row, block.columns[i]);
        if (bits == 0) continue; // every cell is shown
        const float* halves = of.bits + (bits == TileTable::kNone ? 0 : bits * 16);
        const auto first = static_cast<int64_t>(i) * kTileKeys;
        const int64_t count = std::min(kTileKeys, block.count - first);
        for (int64_t query = 0; query < queries; ++query) {
            const uint32_t seen =
                bits == TileTable::kNone
                    ? 0
                    : static_cast<uint32_t>(halves[query]) | static_cast<uint32_t>(halves[query + kTileQueries]) << 16;
            if (seen != UINT32_MAX) hideUnset(seen, count, scores + query * kKeys + first);
        }
    }
}

/// Calls visit(query, place in the query's row of scores, label of that cell) for the cells of a row of tiles.
template <typename Visit>
void overLabels(const TileAttention& of, const TileTable& table, int64_t row, const KeyBlock& block, int64_t queries,
                const Visit& visit) {
    for (size_t i = 0; i < block.columns.size(); ++i) {
        const int64_t bits = table.bits(row, block.columns[i]);
        if (bits == TileTable::kNone) continue;
        const auto first = static_cast<int64_t>(i) * kTileKeys;
        const int64_t count = std::min(kTileKeys, block.count - first);
        for (int64_t query = 0; query < queries; ++query) {
            const float* labels = of.labels + (bits * kTileQueries + query) * kTileKeys;
            for (int64_t key = 0; key < count; ++key) visit(query, first + key, static_cast<int32_t>(labels[key]));
        }
    }
}

/// Calls visit(block, table of the tiles) for the blocks of keys of which some rows see a cell, with their scores.
/// @param scores of kQueries rows, kKeys apart
template <typename Visit>
void overTiles(const TileAttention& of, int64_t b, int64_t head, TileRows rows, float* scores, const Visit& visit) {
    thread_local TileTable table;
    thread_local KeyBlock block;
    table.read(TileList(of, head), rows);
    const std::span<const int64_t> columns = table.columns();
    const int64_t keys = (b * of.G + head / (of.H / of.G)) * of.S, first = rows.first * kTileQueries,
                  queries = std::min(rows.count * kTileQueries, of.T - first);
    constexpr auto kColumns = static_cast<size_t>(kKeys / kTileKeys);
    float* byLabel = nullptr; // of each query and label
    if (of.labels != nullptr && !columns.empty()) {
        byLabel = scratch(static_cast<size_t>(kQueries * of.labelCount), 6);
        product({queries, of.labelCount, of.D}, {of.q + ((b * of.H + head) * of.T + first) * of.stride, of.stride},
                {of.labelVectors + head * of.labelCount * of.stride, of.stride, true}, byLabel, of.labelCount,
                of.scale);
    }
    for (size_t i = 0; i < columns.size(); i += kColumns) {
        block.columns.assign(columns.begin() + static_cast<std::ptrdiff_t>(i),
                             columns.begin() + static_cast<std::ptrdiff_t>(std::min(i + kColumns, columns.size())));
        const auto width = static_cast<int64_t>(block.columns.size()) * kTileKeys;
        block.count = width - std::max<int64_t>((block.columns.back() + 1) * kTileKeys - of.S, 0);
        if (block.isTogether()) {
            block.k = of.k + (keys + block.columns.front() * kTileKeys) * of.stride;
            block.v = of.v + (keys + block.columns.front() * kTileKeys) * of.stride;
            if (i + kColumns < columns.size()) // the next block may lie outside the second cache
                for (const float* next : {block.k, block.v})
                    fetch(reinterpret_cast<const std::byte*>(next + kKeys * of.stride),
                          kKeys * of.stride * static_cast<int64_t>(sizeof(float)));
        } else {
            float *k = scratch(static_cast<size_t>(kKeys * of.stride), 2),
                  *v = scratch(static_cast<size_t>(kKeys * of.stride), 3);
            block.overRuns([&](int64_t key, int64_t place, int64_t count) {
                std::copy_n(of.k + (keys + key) * of.stride, count * of.stride, k + place * of.stride);
                std::copy_n(of.v + (keys + key) * of.stride, count * of.stride, v + place * of.stride);
            });
            block.k = k;
            block.v = v;
        }
        product({queries, block.count, of.D}, {of.q + ((b * of.H + head) * of.T + first) * of.stride, of.stride},
                {block.k, of.stride, true}, scores, kKeys, of.scale);
        if (of.bias != nullptr)
            block.overRuns([&](int64_t key, int64_t place, int64_t count) {
                const float* bias = of.bias + head * of.biasStride + key - first + of.T - 1;
                for (int64_t row = 0; row < queries; ++row) {
                    float* own = scores + row * kKeys + place;
                    add(count, own, bias - row, own);
                }
            });
        for (int64_t row = 0; row < rows.count; ++row) {
            const int64_t present = std::min(kTileQueries, queries - row * kTileQueries);
            float* own = scores + row * kTileQueries * kKeys;
            if (of.labels != nullptr)
                overLabels(of, table, row, block, present, [&](int64_t query, int64_t place, int64_t label) {
                    own[query * kKeys + place] += byLabel[(row * kTileQueries + query) * of.labelCount + label];
                });
            hideTiles(of, table, row, block, present, own);
        }
        visit(block, table);
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
                  query = (b * of.H + part.head) * of.T + first;
    float* out = z + query * of.stride;
    std::fill_n(out, queries * of.stride, 0.0f);
    overTiles(of, b, part.head, part.rows, scores, [&](const KeyBlock& block, const TileTable&) {
        for (int64_t row = 0; row < queries; ++row) {
            const float factor = advance(block.count, scores + row * kKeys, &maxima[row], &sums[row]);
            if (factor != 1) scale(of.D, factor, out + row * of.stride, out + row * of.stride);
        }
        product({queries, of.D, block.count}, {scores, kKeys}, {block.v, of.stride}, out, of.stride, 1, 1);
    });
    for (int64_t row = 0; row < queries; ++row) {
        const bool isSeen = sums[row] > 0;
        scale(of.D, isSeen ? 1 / sums[row] : 0, out + row * of.stride, out + row * of.stride);
        float* to = statistics + (query + row) * 4;
        to[0] = isSeen ? maxima[row] * std::numbers::log2e_v<float> : -1e20f;
        to[1] = isSeen ? 1 / sums[row] : 0;
        to[2] = to[3] = 0;
    }
    if (const int64_t given = std::min(of.firsts - first, queries); given > 0)
        std::copy_n(of.firstRows + ((b * of.H + part.head) * of.firsts + first) * of.stride, given * of.stride, out);
}

/// Finds the maxima of the scores of a part's rows. The statistics hold them in powers of two, which costs large ones
/// digits (for example those with a penalty). Such maxima are computed again.
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
    overTiles(of, b, part.head, part.rows, scores, [&](const KeyBlock& block, const TileTable&) {
        for (int64_t row = 0; row < queries; ++row)
            maxima[row] = std::max(maxima[row], reduceLines(true, 1, block.count, scores + row * kKeys));
    });
}

/// Calls visit(block, pattern, gradient of the scores, rows of q, table) for the blocks of keys of a part.
/// @param statistics z . dz is the third number of each row  @param factor multiplies the gradient
template <typename Visit>
void overGradients(const TileAttention& of, int64_t b, const Part& part, const float* statistics, const float* dz,
                   float factor, const Visit& visit) {
    float *scores = scratch(kQueries * kKeys, 0), *products = scratch(kQueries * kKeys, 1);
    const int64_t first = part.rows.first * kTileQueries,
                  queries = std::min(part.rows.count * kTileQueries, of.T - first),
                  query = (b * of.H + part.head) * of.T + first;
    float maxima[kQueries];
    maximaOf(of, b, part, queries, statistics + query * 4, maxima);
    overTiles(of, b, part.head, part.rows, scores, [&](const KeyBlock& block, const TileTable& table) {
        product({queries, block.count, of.D}, {dz + query * of.stride, of.stride}, {block.v, of.stride, true}, products,
                kKeys);
        for (int64_t row = 0; row < queries; ++row) {
            const float* given = statistics + (query + row) * 4;
            patternGradient(block.count, maxima[row], given[1], 1, given[2], factor, scores + row * kKeys,
                            products + row * kKeys);
        }
        visit(block, scores, products, Rows{query, query + queries}, table);
    });
}

/// Adds the transpose of `weights` [queries, keys] times rows of queries to rows of keys.
void addToKeys(const TileAttention& of, const KeyBlock& block, int64_t queries, const float* weights, const float* rows,
               float* keys) {
    const ProductSize size{block.count, of.D, queries};
    if (block.isTogether()) {
        product(size, {weights, kKeys, true}, {rows, of.stride}, keys + block.columns.front() * kTileKeys * of.stride,
                of.stride, 1, 1);
        return;
    }
    float* sums = scratch(static_cast<size_t>(kKeys * of.stride), 4);
    product(size, {weights, kKeys, true}, {rows, of.stride}, sums, of.stride);
    block.overRuns([&](int64_t key, int64_t place, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
            float* to = keys + (key + i) * of.stride;
            add(of.D, to, sums + (place + i) * of.stride, to);
        }
    });
}

/// Adds the gradients of the scores to the sums of their labels.
void addByLabel(const TileAttention& of, const TileTable& table, const KeyBlock& block, Rows queries, const float* ds,
                float* sums, int64_t stride) {
    for (int64_t row = 0; row * kTileQueries < queries.count(); ++row) {
        const int64_t first = row * kTileQueries, present = std::min(kTileQueries, queries.count() - first);
        float* to = sums + (queries.begin + first) * stride;
        const float* own = ds + first * kKeys;
        overLabels(of, table, row, block, present, [&](int64_t query, int64_t place, int64_t label) {
            to[query * stride + label] += own[query * kKeys + place];
        });
    }
}

} // namespace

void tileAttention(const TileAttention& of, float* z, float* statistics, Pool& pool) {
    const std::vector<Part> parts = allParts(of);
    const auto count = static_cast<int64_t>(parts.size());
    pool.run(of.B * count, [&](int64_t i) {
        attend(of, i / count, parts[static_cast<size_t>(count - 1 - i % count)], z, statistics);
    });
}

/// One task computes the heads of a group, so no other task writes their keys.
void tileAttentionGradient(const TileAttention& of, const TileGradient& g, Pool& pool) {
    const std::vector<Part> parts = allParts(of);
    const int64_t heads = of.H / of.G;
    pool.run(of.B * of.G, [&](int64_t i) {
        const int64_t b = i / of.G, group = i % of.G, keys = i * of.S * of.stride,
                      first = (b * of.H + group * heads) * of.T;
        std::fill_n(g.dk + keys, of.S * of.stride, 0.0f);
        std::fill_n(g.dv + keys, of.S * of.stride, 0.0f);
        std::fill_n(g.dq + first * of.stride, heads * of.T * of.stride, 0.0f);
        if (g.labelProducts != nullptr)
            std::fill_n(g.labelProducts + first * g.labelStride, heads * of.T * g.labelStride, 0.0f);
        for (int64_t row = first; row < first + heads * of.T; ++row) {
            std::copy_n(g.statistics + row * 4, 2, g.products + row * 4);
            g.products[row * 4 + 2] = dot(of.D, g.z + row * of.stride, g.dz + row * of.stride);
            g.products[row * 4 + 3] = 0;
        }
        for (const Part& part : parts) {
            if (part.head / heads != group) continue;
            overGradients(of, b, part, g.products, g.dz, of.scale,
                          [&](const KeyBlock& block, const float* pattern, const float* ds, Rows queries,
                              const TileTable& table) {
                              const int64_t rows = queries.count(), query = queries.begin * of.stride;
                              addToKeys(of, block, rows, pattern, g.dz + query, g.dv + keys);
                              addToKeys(of, block, rows, ds, of.q + query, g.dk + keys);
                              product({rows, of.D, block.count}, {ds, kKeys}, {block.k, of.stride}, g.dq + query,
                                      of.stride, 1, 1);
                              if (g.labelProducts != nullptr)
                                  addByLabel(of, table, block, queries, ds, g.labelProducts, g.labelStride);
                          });
        }
    });
}

void tileBiasGradient(const TileAttention& of, const float* products, const float* dz, float* dBias, Pool& pool) {
    const std::vector<Part> parts = allParts(of);
    pool.run(of.H, [&](int64_t head) {
        // Sums of unaligned vectors may touch a few floats after the row.
        float* out = scratch(static_cast<size_t>(of.biasStride) + 64, 5);
        std::fill_n(out, of.biasStride, 0.0f);
        for (int64_t b = 0; b < of.B; ++b)
            for (const Part& part : parts) {
                if (part.head != head) continue;
                overGradients(
                    of, b, part, products, dz, 1,
                    [&](const KeyBlock& block, const float*, const float* ds, Rows queries, const TileTable&) {
                        const int64_t first = part.rows.first * kTileQueries;
                        block.overRuns([&](int64_t key, int64_t place, int64_t count) {
                            for (int64_t row = 0; row < queries.count(); ++row) {
                                float* to = out + key - first - row + of.T - 1;
                                add(count, to, ds + row * kKeys + place, to);
                            }
                        });
                    });
            }
        std::copy_n(out, of.biasStride, dBias + head * of.biasStride);
    });
}

} // namespace attn::host
