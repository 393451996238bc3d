#include "engine/host/channels.h"

#include "engine/host/elementwise.h"
#include "engine/host/product.h"
#include "engine/host/reduce.h"
#include "engine/host/scores.h"

#include <cmath>
#include <utility>

namespace attn::host {
namespace {

constexpr int64_t kQueries = ChannelMean::kQueries, kKeys = ChannelMean::kKeys;

/// The number of a cell.
float numberOf(const ChannelMean& of, int64_t head, int64_t t, int64_t s) {
    const int64_t distance = s - t;
    if (of.window > 0 && std::abs(distance) >= of.window) return 0;
    if (of.table != nullptr)
        return of.table[head * of.tableHead + t * of.tableRow + (of.window > 0 ? distance + of.window - 1 : s)];
    return dot(of.F, of.queryFactors + t * of.factorStride, of.keyFactors + s * of.factorStride);
}

/// The numbers of a block of cells, kKeys apart; those of hidden cells are kHiddenScore.
void writeNumbers(const ChannelMean& of, int64_t head, Rows queries, Rows keys, float* out) {
    if (of.table == nullptr)
        product({queries.count(), keys.count(), of.F},
                {of.queryFactors + queries.begin * of.factorStride, of.factorStride},
                {of.keyFactors + keys.begin * of.factorStride, of.factorStride, true}, out, kKeys);
    for (int64_t t = queries.begin; t < queries.end; ++t) {
        float* row = out + (t - queries.begin) * kKeys;
        const auto place = [&](int64_t key) { return std::clamp(key, keys.begin, keys.end) - keys.begin; };
        const int64_t first = of.window > 0 ? place(t - of.window + 1) : 0,
                      end = of.window > 0 ? place(t + of.window) : keys.count();
        if (of.table != nullptr && first < end) {
            const float* table = of.table + head * of.tableHead + t * of.tableRow;
            std::copy_n(table + keys.begin + first - (of.window > 0 ? t - of.window + 1 : 0), end - first, row + first);
        }
        std::fill(row, row + first, 0.0f);
        std::fill(row + end, row + keys.count(), 0.0f);
        std::fill(row, row + place(t - of.behind), kHiddenScore);
        std::fill(row + place(t + of.ahead + 1), row + keys.count(), kHiddenScore);
    }
}

/// One number of z by itself, relative to its own largest exponent.
float exactly(const ChannelMean& of, int64_t b, int64_t head, int64_t t, int64_t d) {
    const int64_t first = of.firstKey(t), end = of.endKey(t + 1), rows = (b * of.H + head) * of.S;
    float most = kLeastMaximum, top = 0, bottom = 0;
    const auto exponent = [&](int64_t s) { return of.k[(rows + s) * of.stride + d] + numberOf(of, head, t, s); };
    for (int64_t s = first; s < end; ++s) most = std::max(most, exponent(s));
    for (int64_t s = first; s < end; ++s) {
        const float weight = std::exp(exponent(s) - most);
        top += weight * of.v[(rows + s) * of.stride + d];
        bottom += weight;
    }
    return bottom > 0 ? top / bottom : 0;
}

/// Sums of e^k and of e^k v, relative to the largest k of each channel that the block of queries sees and to the
/// largest number of each query.
void meanOf(const ChannelMean& of, int64_t b, int64_t head, Rows queries, float* z) {
    const int64_t stride = of.stride, rows = (b * of.H + head) * of.S;
    const auto block = static_cast<size_t>(kKeys * stride), own = static_cast<size_t>(kQueries * stride);
    float *numbers = scratch(kQueries * kKeys, 0), *weights = scratch(block, 1), *weighed = scratch(block, 2),
          *bottom = scratch(own, 3), *top = scratch(own, 4), *least = scratch(block, 5),
          *far = scratch(static_cast<size_t>(2 * stride), 6);
    float maxima[kQueries], unused[kQueries] = {};
    std::fill_n(maxima, queries.count(), kLeastMaximum);
    for (float* sums : {bottom, top}) std::fill_n(sums, queries.count() * stride, 0.0f);
    const Rows seen{of.firstKey(queries.begin), of.endKey(queries.end)};
    if (seen.count() > 0)
        reduceStrip({.strip = seen.count(), .stride = stride, .isMaximum = true, .factor = -1}, 0, stride,
                    of.k + (rows + seen.begin) * stride, least);
    for (int64_t key = 1; key < kKeys; ++key) std::copy_n(least, stride, least + key * stride);
    for (int64_t s = seen.begin; s < seen.end; s += kKeys) {
        const Rows keys{s, std::min(s + kKeys, seen.end)};
        const int64_t from = (rows + s) * stride, count = keys.count() * stride;
        add(count, of.k + from, least, weights);
        weigh(count, 0, 1, weights);
        multiply(count, weights, of.v + from, weighed);
        const bool isFar = of.isFar(queries.begin, queries.end, keys.begin, keys.end);
        if (isFar) {
            reduceStrip({.strip = keys.count(), .stride = stride}, 0, stride, weights, far);
            reduceStrip({.strip = keys.count(), .stride = stride}, 0, stride, weighed, far + stride);
        } else {
            writeNumbers(of, head, queries, keys, numbers);
        }
        for (int64_t row = 0; row < queries.count(); ++row) {
            float none[4] = {}; // the number of each far cell
            const float factor =
                advance(isFar ? 1 : keys.count(), isFar ? none : numbers + row * kKeys, &maxima[row], &unused[row]);
            const float weight = isFar ? none[0] : 0;
            for (const auto& [sums, added] : {std::pair{bottom, far}, {top, far + stride}}) {
                float* to = sums + row * stride;
                if (factor != 1) scale(stride, factor, to, to);
                if (isFar)
                    for (int64_t d = 0; d < stride; ++d) to[d] += weight * added[d];
            }
        }
        // Where later queries see more keys, strips of queries leave out what they do not see.
        const int64_t strip = of.endKey(queries.begin + 1) < keys.end ? ChannelMean::kStrip : queries.count();
        for (int64_t row = 0; !isFar && row < queries.count(); row += strip) {
            const int64_t end = std::min(row + strip, queries.count()),
                          columns = std::min(of.endKey(queries.begin + end), keys.end) - keys.begin;
            if (columns <= 0) continue;
            for (const auto& [sums, added] : {std::pair{bottom, weights}, {top, weighed}})
                product({end - row, stride, columns}, {numbers + row * kKeys, kKeys}, {added, stride},
                        sums + row * stride, stride, 1, 1);
        }
    }
    constexpr float kLeastSum = 1e-20f; // far above what a float rounds to 0
    for (int64_t row = 0; row < queries.count(); ++row) {
        const int64_t t = queries.begin + row, at = ((b * of.H + head) * of.T + t) * stride;
        float* out = z + at;
        std::fill_n(out, stride, 0.0f);
        for (int64_t d = 0; d < of.D; ++d) {
            const float sum = bottom[row * stride + d];
            out[d] = sum >= kLeastSum ? top[row * stride + d] / sum : exactly(of, b, head, t, d);
            if (of.q != nullptr) out[d] /= 1 + std::exp(-of.q[at + d]);
        }
    }
}

} // namespace

void channelMean(const ChannelMean& of, float* z, Pool& pool) {
    const int64_t blocks = (of.T + kQueries - 1) / kQueries;
    pool.run(of.B * of.H * blocks, [&](int64_t i) {
        const int64_t head = i / blocks, first = (blocks - 1 - i % blocks) * kQueries;
        meanOf(of, head / of.H, head % of.H, {first, std::min(first + kQueries, of.T)}, z);
    });
}

} // namespace attn::host
