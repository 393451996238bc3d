#include "engine/host/attention.h"

#include "engine/host/elementwise.h"
#include "engine/host/product.h"
#include "engine/host/rows.h"
#include "engine/host/scores.h"

#include <algorithm>
#include <numbers>
#include <vector>

namespace attn::host {
namespace {

constexpr int64_t kQueries = 64, kKeys = 128; // of a block, whose scores stay in the cache
static_assert(steadyColumns(kKeys) == kKeys);

/// The blocks of queries. No block holds rows of two sequences.
std::vector<Rows> queryBlocks(const Attention& of) {
    std::vector<Rows> blocks;
    const int64_t length = of.sequence == 0 ? std::max<int64_t>(of.T, 1) : of.sequence;
    for (int64_t first = 0; first < of.T; first += length)
        for (int64_t t = first; t < std::min(first + length, of.T); t += kQueries)
            blocks.push_back({t, std::min({t + kQueries, first + length, of.T})});
    return blocks;
}

const float* queryRow(const Attention& of, const float* rows, int64_t t, int64_t head) {
    return rows + (t * of.H + head) * of.stride;
}
float* queryRow(const Attention& of, float* rows, int64_t t, int64_t head) {
    return rows + (t * of.H + head) * of.stride;
}
int64_t groupOf(const Attention& of, int64_t head) { return head / (of.H / of.G); }

/// Scores [queries, keys] with rows of kKeys.
void scoreRows(const Attention& of, int64_t head, Rows queries, Rows keys, Sight sight, float* scores) {
    scoreBlock(of, {.head = head, .query = queries.begin, .queries = queries.count(), .keys = keys}, sight, scores,
               kKeys);
}

void writeStatistics(const Attention& of, int64_t head, int64_t t, float maximum, float sum, float* statistics) {
    float* row = statistics + (head * of.capacity + t) * 4;
    row[0] = sum > 0 ? maximum * std::numbers::log2e_v<float> : -1e20f;
    row[1] = sum > 0 ? 1 / sum : 0;
    row[2] = row[3] = 0;
}

/// A row's bits do not depend on the number of queries and keys in the step.
void attentionBlock(const Attention& of, int64_t head, Rows queries, float* z, float* statistics) {
    float* scores = scratch(kQueries * kKeys, 0);
    float maxima[kQueries], sums[kQueries];
    std::fill_n(maxima, queries.count(), kLeastMaximum);
    std::fill_n(sums, queries.count(), 0.0f);
    for (int64_t t = queries.begin; t < queries.end; ++t) std::fill_n(queryRow(of, z, t, head), of.stride, 0.0f);
    const Rows at = positionsOf(of.queryPosition, queries), all = keysFor(of, queries.begin);
    for (int64_t s = all.begin; s < all.end; s += kKeys) {
        const Rows keys{s, std::min(s + kKeys, all.end)};
        const Sight sight = sightOf(of, at, keys);
        if (sight == Sight::Nothing) continue;
        const int64_t places = steadyTerms(keys.count());
        steadyScores(of, {.head = head, .query = queries.begin, .queries = queries.count(), .keys = keys}, sight,
                     scores, kKeys);
        for (int64_t row = 0; row < queries.count(); ++row) {
            const float factor = advance(keys.count(), scores + row * kKeys, &maxima[row], &sums[row]);
            std::fill(scores + row * kKeys + keys.count(), scores + row * kKeys + places, 0.0f);
            float* out = queryRow(of, z, queries.begin + row, head);
            if (factor != 1) scale(of.D, factor, out, out);
        }
        steadyProduct({queries.count(), of.D, places}, {scores, kKeys},
                      padded(of.v + (s * of.G + groupOf(of, head)) * of.stride, keys.count(), places, of.G * of.stride,
                             of.stride, 6),
                      queryRow(of, z, queries.begin, head), of.H * of.stride, 1, 1);
    }
    for (int64_t row = 0; row < queries.count(); ++row) {
        float* out = queryRow(of, z, queries.begin + row, head);
        scale(of.D, sums[row] > 0 ? of.gates[head] / sums[row] : 0, out, out);
        writeStatistics(of, head, queries.begin + row, maxima[row], sums[row], statistics);
    }
}

/// Computes one query by itself for the heads of a group, whose keys and values are read once.
void attentionRow(const Attention& of, int64_t t, int64_t group, float* z, float* statistics) {
    const int64_t heads = of.H / of.G, first = group * heads;
    const Rows keys = keysFor(of, t);
    float* scores = scratch(static_cast<size_t>(kMostSkinnyRows * keys.count()), 0);
    for (int64_t h = 0; h < heads; h += kMostSkinnyRows) {
        const int64_t count = std::min(kMostSkinnyRows, heads - h);
        skinnyProduct({.rows = count,
                       .K = of.D,
                       .x = queryRow(of, of.q, t, first + h),
                       .w = of.k + (keys.begin * of.G + group) * of.stride,
                       .out = scores,
                       .xStride = of.stride,
                       .wStride = of.G * of.stride,
                       .outStride = keys.count(),
                       .scale = of.scale},
                      0, keys.count());
        for (int64_t i = 0; i < count; ++i) {
            const int64_t head = first + h + i;
            float* row = scores + i * keys.count();
            applyRule(of, head, t, keys, Sight::Part, row);
            float maximum = kLeastMaximum, sum = 0;
            advance(keys.count(), row, &maximum, &sum);
            float* out = queryRow(of, z, t, head);
            weightedSum(keys.count(), of.D, row, of.v + (keys.begin * of.G + group) * of.stride, of.G * of.stride, out);
            scale(of.D, sum > 0 ? of.gates[head] / sum : 0, out, out);
            writeStatistics(of, head, t, maximum, sum, statistics);
        }
    }
}

/// The gradient for the heads of a group in one sequence. No other task writes their keys.
void gradientOfGroup(const Attention& of, const AttentionGradient& g, int64_t group, const std::vector<Rows>& blocks) {
    float *scores = scratch(kQueries * kKeys, 0), *products = scratch(kQueries * kKeys, 1);
    const int64_t heads = of.H / of.G, stride = of.H * of.stride, keyStride = of.G * of.stride;
    for (const Rows& queries : blocks) {
        const Rows at = positionsOf(of.queryPosition, queries), all = keysFor(of, queries.begin);
        for (int64_t head = group * heads; head < (group + 1) * heads; ++head) {
            for (int64_t t = queries.begin; t < queries.end; ++t) {
                const float* given = g.statistics + (head * of.capacity + t) * 4;
                float* row = g.products + (head * of.capacity + t) * 4;
                row[0] = given[0];
                row[1] = given[1];
                row[2] = dot(of.D, queryRow(of, g.z, t, head), queryRow(of, g.dz, t, head));
                row[3] = 0;
                std::fill_n(queryRow(of, g.dq, t, head), of.stride, 0.0f);
            }
            const float *dz = queryRow(of, g.dz, queries.begin, head), *q = queryRow(of, of.q, queries.begin, head);
            for (int64_t s = all.begin; s < all.end; s += kKeys) {
                const Rows keys{s, std::min(s + kKeys, all.end)};
                const Sight sight = sightOf(of, at, keys);
                if (sight == Sight::Nothing) continue;
                const int64_t key = (s * of.G + group) * of.stride;
                scoreRows(of, head, queries, keys, sight, scores);
                product({queries.count(), keys.count(), of.D}, {dz, stride}, {of.v + key, keyStride, true}, products,
                        kKeys);
                for (int64_t row = 0; row < queries.count(); ++row) {
                    const float* statistics = g.products + (head * of.capacity + queries.begin + row) * 4;
                    const float maximum =
                        statistics[1] > 0 ? statistics[0] / std::numbers::log2e_v<float> : kLeastMaximum;
                    patternGradient(keys.count(), maximum, statistics[1], of.gates[head], statistics[2], of.scale,
                                    scores + row * kKeys, products + row * kKeys);
                }
                product({keys.count(), of.D, queries.count()}, {scores, kKeys, true}, {dz, stride}, g.dv + key,
                        keyStride, 1, 1);
                product({queries.count(), of.D, keys.count()}, {products, kKeys}, {of.k + key, keyStride},
                        queryRow(of, g.dq, queries.begin, head), stride, 1, 1);
                product({keys.count(), of.D, queries.count()}, {products, kKeys, true}, {q, stride}, g.dk + key,
                        keyStride, 1, 1);
            }
        }
    }
}

} // namespace

void attention(const Attention& of, float* z, float* statistics, Pool& pool) {
    if (std::max(of.T, of.capacity) <= kMostSkinnyRows) { // with more rows, a row must have the bits of one among many
        constexpr int64_t kWork = 1 << 12; // multiply-adds of a thread, whose keys and values come from memory
        const int64_t least = kWork / std::max<int64_t>(of.S * of.D * (of.H / of.G), 1) + 1;
        pool.ranges(of.T * of.G, least, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) attentionRow(of, i / of.G, i % of.G, z, statistics);
        });
        return;
    }
    const std::vector<Rows> blocks = queryBlocks(of);
    const auto count = static_cast<int64_t>(blocks.size());
    // The longest rows first: the threads then end at about the same time.
    pool.run(count * of.H, [&](int64_t i) {
        attentionBlock(of, i % of.H, blocks[static_cast<size_t>(count - 1 - i / of.H)], z, statistics);
    });
}

void attentionGradient(const Attention& of, const AttentionGradient& gradient, Pool& pool) {
    std::vector<std::vector<Rows>> sequences;
    for (const Rows& block : queryBlocks(of)) {
        const auto index = static_cast<size_t>(of.sequence == 0 ? 0 : block.begin / of.sequence);
        if (sequences.size() <= index) sequences.resize(index + 1);
        sequences[index].push_back(block);
    }
    pool.ranges(of.S * of.G, 1024, 1, [&](int64_t begin, int64_t end) {
        std::fill(gradient.dk + begin * of.stride, gradient.dk + end * of.stride, 0.0f);
        std::fill(gradient.dv + begin * of.stride, gradient.dv + end * of.stride, 0.0f);
    });
    pool.run(static_cast<int64_t>(sequences.size()) * of.G,
             [&](int64_t i) { gradientOfGroup(of, gradient, i % of.G, sequences[static_cast<size_t>(i / of.G)]); });
}

} // namespace attn::host
