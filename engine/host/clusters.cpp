#include "engine/host/clusters.h"

#include "engine/host/elementwise.h"
#include "engine/host/product.h"
#include "engine/host/rows.h"
#include "engine/host/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

namespace attn::host {
namespace {

constexpr int64_t kQueries = 64; // of a block

/// The numbers of a row, or of a token on the sphere.
struct Head {
    const ClusterAttention& of;
    int64_t m;

    const float* row(const float* from, int64_t token) const { return from + (m * of.T + token) * of.stride; }
    float* row(float* from, int64_t token) const { return from + (m * of.T + token) * of.stride; }
    /// @param which 0 for queries, 1 for keys
    float mean(int64_t which, int64_t token) const { return sphere(2 * which, token); }
    float inverse(int64_t which, int64_t token) const { return sphere(2 * which + 1, token); }
    const int32_t* queries(int64_t cluster) const { return of.queryIds + (m * of.count + cluster) * of.idStride; }
    const int32_t* keys(int64_t cluster) const { return of.keyIds + (m * of.count + cluster) * of.idStride; }

    /// Writes the rows of some tokens, on the sphere, one after another.
    void units(int64_t which, const int32_t* tokens, int64_t count, float* to) const {
        for (int64_t i = 0; i < count; ++i, to += of.stride) {
            const float* from = row(which == 0 ? of.q : of.k, tokens[i]);
            const float less = mean(which, tokens[i]), by = inverse(which, tokens[i]);
            for (int64_t d = 0; d < of.D; ++d) to[d] = (from[d] - less) * by;
        }
    }
    /// Writes the rows of some tokens one after another, divided by their counts if there are any.
    void gather(const float* from, const float* counts, const int32_t* tokens, int64_t count, float* to) const {
        for (int64_t i = 0; i < count; ++i, to += of.stride)
            scale(of.D, counts != nullptr ? 1 / counts[m * of.tokenStride + tokens[i]] : 1, row(from, tokens[i]), to);
    }
    void scatter(const float* rows, const int32_t* tokens, int64_t count, float* to) const {
        for (int64_t i = 0; i < count; ++i, rows += of.stride) add(of.D, row(to, tokens[i]), rows, row(to, tokens[i]));
    }

private:
    float sphere(int64_t line, int64_t token) const { return of.sphere[(m * 4 + line) * of.tokenStride + token]; }
};

/// The number of a cluster's keys that a query sees. The keys ascend.
int64_t seenBy(const ClusterAttention& of, const int32_t* keys, int32_t query) {
    return of.isCausal ? std::upper_bound(keys, keys + of.members, query) - keys : of.members;
}

/// Calls visit(cluster, first, queries, most, scores) for blocks of a cluster's queries. Scratch memory 1 holds copies
/// of the keys; the queries of the block see at most the first `most`.
template <typename Visit> void overBlocks(const Head& head, const Visit& visit) {
    const ClusterAttention& of = head.of;
    float *q = scratch(static_cast<size_t>(kQueries * of.stride), 0),
          *k = scratch(static_cast<size_t>(of.members * of.stride), 1),
          *scores = scratch(static_cast<size_t>(kQueries * of.idStride), 2);
    for (int64_t cluster = 0; cluster < of.count; ++cluster) {
        head.units(1, head.keys(cluster), of.members, k);
        for (int64_t first = 0; first < of.members; first += kQueries) {
            const int64_t queries = std::min(kQueries, of.members - first);
            const int32_t* ids = head.queries(cluster) + first;
            const int64_t most = seenBy(of, head.keys(cluster), ids[queries - 1]);
            head.units(0, ids, queries, q);
            product({queries, most, of.D}, {q, of.stride}, {k, of.stride, true}, scores, of.idStride, of.scale);
            visit(cluster, first, queries, most, scores);
        }
    }
}

} // namespace

void clusterAttention(const ClusterAttention& of, float* z, float* statistics, float* counts, Pool& pool) {
    pool.run(of.M, [&](int64_t m) {
        const Head head{of, m};
        float* held = counts + m * of.tokenStride;
        std::fill_n(held, of.tokenStride, 0.0f);
        for (int64_t cluster = 0; cluster < of.count; ++cluster)
            for (int64_t i = 0; i < of.members; ++i) ++held[head.queries(cluster)[i]];
        for (int64_t t = 0; t < of.T; ++t) {
            if (held[t] == 0)
                std::copy_n(head.row(of.v, t), of.stride, head.row(z, t));
            else
                std::fill_n(head.row(z, t), of.stride, 0.0f);
        }
        float *v = scratch(static_cast<size_t>(of.members * of.stride), 3),
              *mixed = scratch(static_cast<size_t>(kQueries * of.stride), 4);
        overBlocks(head, [&](int64_t cluster, int64_t first, int64_t queries, int64_t most, float* scores) {
            const int32_t* ids = head.queries(cluster) + first;
            if (first == 0) head.gather(of.v, nullptr, head.keys(cluster), of.members, v);
            float* row = statistics + (m * of.count + cluster) * 2 * of.idStride;
            if (first == 0) std::fill_n(row, 2 * of.idStride, 0.0f);
            float sums[kQueries];
            for (int64_t i = 0; i < queries; ++i) {
                const int64_t seen = seenBy(of, head.keys(cluster), ids[i]);
                float maximum = kLeastMaximum;
                sums[i] = 0;
                advance(seen, scores + i * of.idStride, &maximum, &sums[i]);
                std::fill(scores + i * of.idStride + seen, scores + i * of.idStride + most, 0.0f);
                row[first + i] = sums[i] > 0 ? maximum * std::numbers::log2e_v<float> : 0;
                row[of.idStride + first + i] = sums[i] > 0 ? 1 / sums[i] : 0;
            }
            product({queries, of.D, most}, {scores, of.idStride}, {v, of.stride}, mixed, of.stride);
            for (int64_t i = 0; i < queries; ++i) {
                float* each = mixed + i * of.stride;
                scale(of.D, sums[i] > 0 ? 1 / (sums[i] * held[ids[i]]) : 0, each, each);
            }
            head.scatter(mixed, ids, queries, z);
        });
    });
}

void clusterAttentionGradient(const ClusterAttention& of, const ClusterGradient& g, Pool& pool) {
    pool.run(of.M, [&](int64_t m) {
        const Head head{of, m};
        for (int64_t t = 0; t < of.T; ++t) {
            std::fill_n(head.row(g.dq, t), of.stride, 0.0f);
            std::fill_n(head.row(g.dk, t), of.stride, 0.0f);
            if (g.counts[m * of.tokenStride + t] == 0)
                std::copy_n(head.row(g.dz, t), of.stride, head.row(g.dv, t));
            else
                std::fill_n(head.row(g.dv, t), of.stride, 0.0f);
        }
        const auto rows = static_cast<size_t>(of.members * of.stride);
        float *v = scratch(rows, 3), *sums = scratch(rows, 4),
              *dz = scratch(static_cast<size_t>(kQueries * of.stride), 5),
              *ds = scratch(static_cast<size_t>(kQueries * of.idStride), 6);
        overBlocks(head, [&](int64_t cluster, int64_t first, int64_t queries, int64_t most, float* pattern) {
            const float *q = scratch(0, 0), *k = scratch(0, 1); // the copies
            const int32_t *ids = head.queries(cluster) + first, *keys = head.keys(cluster);
            if (first == 0) head.gather(of.v, nullptr, keys, of.members, v);
            head.gather(g.dz, g.counts, ids, queries, dz);
            product({queries, most, of.D}, {dz, of.stride}, {v, of.stride, true}, ds, of.idStride);
            const float* given = g.statistics + (m * of.count + cluster) * 2 * of.idStride + first;
            float* products = g.products + (m * of.count + cluster) * of.idStride + first;
            for (int64_t i = 0; i < queries; ++i) {
                const int64_t seen = seenBy(of, keys, ids[i]);
                float *p = pattern + i * of.idStride, *row = ds + i * of.idStride;
                weigh(seen, given[i] / std::numbers::log2e_v<float>, given[of.idStride + i], p);
                products[i] = dot(seen, p, row);
                softmaxGradient(seen, p, row, row);
                std::fill(p + seen, p + most, 0.0f);
                std::fill(row + seen, row + most, 0.0f);
            }
            product({most, of.D, queries}, {pattern, of.idStride, true}, {dz, of.stride}, sums, of.stride);
            head.scatter(sums, keys, most, g.dv);
            product({most, of.D, queries}, {ds, of.idStride, true}, {q, of.stride}, sums, of.stride, of.scale);
            head.scatter(sums, keys, most, g.dk);
            product({queries, of.D, most}, {ds, of.idStride}, {k, of.stride}, sums, of.stride, of.scale);
            head.scatter(sums, ids, queries, g.dq);
        });
        for (int64_t cluster = 0; cluster < of.count; ++cluster) { // the padding
            float* row = g.products + (m * of.count + cluster) * of.idStride;
            std::fill(row + of.members, row + of.idStride, 0.0f);
        }
        // The sums are gradients by the rows on the sphere.
        std::vector<float> unit(static_cast<size_t>(of.stride));
        for (int64_t t = 0; t < of.T; ++t)
            for (const int64_t which : {0, 1}) {
                float* gradient = head.row(which == 0 ? g.dq : g.dk, t);
                const auto token = static_cast<int32_t>(t);
                head.units(which, &token, 1, unit.data());
                const float mean = total(of.D, gradient) / static_cast<float>(of.D),
                            along = dot(of.D, gradient, unit.data()), by = head.inverse(which, t);
                for (int64_t d = 0; d < of.D; ++d)
                    gradient[d] = (gradient[d] - mean - along * unit[static_cast<size_t>(d)]) * by;
            }
    });
}

void largestColumns(int64_t columns, int64_t count, const float* x, const float* factor, int32_t* out) {
    std::vector<float> keys(static_cast<size_t>(columns));
    std::vector<int32_t> order(static_cast<size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    for (size_t c = 0; c < keys.size(); ++c) {
        keys[c] = x[c] * factor[c];
        if (std::isnan(keys[c])) keys[c] = -std::numeric_limits<float>::infinity();
    }
    const auto at = [&](int32_t column) { return keys[static_cast<size_t>(column)]; };
    const auto end = order.begin() + count;
    std::nth_element(order.begin(), end - 1, order.end(),
                     [&](int32_t a, int32_t b) { return at(a) > at(b) || (at(a) == at(b) && a < b); });
    std::sort(order.begin(), end);
    std::copy(order.begin(), end, out);
}

} // namespace attn::host
