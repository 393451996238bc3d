#include "engine/host/channels.h"

#include "engine/host/elementwise.h"
#include "engine/host/product.h"
#include "engine/host/reduce.h"
#include "engine/host/scores.h"

#include <cmath>
#include <utility>
#include <vector>

namespace attn::host {
namespace {

constexpr int64_t kQueries = ChannelMean::kQueries, kKeys = ChannelMean::kKeys;

/// The number that weighs a cell.
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

/// Computes one number of z separately, relative to its own largest exponent.
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

/// Sums over blocks of keys that do not depend on a query: rows of `stride` floats for each head and block.
struct KeyBlocks {
    int64_t count;             ///< of a head
    std::vector<float> maxima; ///< the largest k of each channel
    /// Sums of e^k and of e^k v relative to that maximum, if there is a window.
    std::vector<float> bottom, top;

    explicit KeyBlocks(const ChannelMean& of) : count((of.S + kKeys - 1) / kKeys) {
        const auto floats = static_cast<size_t>(of.B * of.H * count * of.stride);
        maxima.resize(floats);
        if (of.window > 0) bottom.resize(floats), top.resize(floats);
    }
};

/// The keys' e^k, each channel relative to -least, and e^k v. @param least [kKeys] equal rows
void weighKeys(const ChannelMean& of, int64_t row, int64_t keys, const float* least, float* weights, float* weighed) {
    const int64_t floats = keys * of.stride;
    add(floats, of.k + row * of.stride, least, weights);
    weigh(floats, 0, 1, weights);
    multiply(floats, weights, of.v + row * of.stride, weighed);
}
void repeatRow(int64_t rows, int64_t stride, float* row) {
    for (int64_t i = 1; i < rows; ++i) std::copy_n(row, stride, row + i * stride);
}

void readBlock(const ChannelMean& of, int64_t head, int64_t block, KeyBlocks& blocks) {
    const int64_t stride = of.stride, first = block * kKeys, keys = std::min(kKeys, of.S - first),
                  row = head * of.S + first, at = (head * blocks.count + block) * stride;
    reduceStrip({.strip = keys, .stride = stride, .isMaximum = true}, 0, stride, of.k + row * stride,
                blocks.maxima.data() + at);
    if (of.window == 0) return;
    const auto floats = static_cast<size_t>(kKeys * stride);
    float *weights = scratch(floats, 1), *weighed = scratch(floats, 2), *least = scratch(floats, 5);
    scale(stride, -1, blocks.maxima.data() + at, least);
    repeatRow(keys, stride, least);
    weighKeys(of, row, keys, least, weights, weighed);
    reduceStrip({.strip = keys, .stride = stride}, 0, stride, weights, blocks.bottom.data() + at);
    reduceStrip({.strip = keys, .stride = stride}, 0, stride, weighed, blocks.top.data() + at);
}

/// Sums of e^k and of e^k v, relative to the largest k of each channel in the blocks of keys that the queries see and
/// to the largest number of each query. Far blocks, whose numbers are 0, are added last.
void meanOf(const ChannelMean& of, const KeyBlocks& blocks, int64_t b, int64_t head, Rows queries, float* z) {
    const int64_t stride = of.stride, rows = (b * of.H + head) * of.S, firstBlock = (b * of.H + head) * blocks.count;
    const auto block = static_cast<size_t>(kKeys * stride), own = static_cast<size_t>(kQueries * stride);
    float *numbers = scratch(kQueries * kKeys, 0), *weights = scratch(block, 1), *weighed = scratch(block, 2),
          *bottom = scratch(own, 3), *top = scratch(own, 4), *least = scratch(block, 5),
          *far = scratch(static_cast<size_t>(3 * stride), 6), *part = far + 2 * stride;
    float maxima[kQueries], unused[kQueries] = {};
    std::fill_n(maxima, queries.count(), kLeastMaximum);
    for (float* sums : {bottom, top}) std::fill_n(sums, queries.count() * stride, 0.0f);
    std::fill_n(far, 2 * stride, 0.0f);
    bool hasFar = false;
    const Rows seen{of.firstKey(queries.begin), of.endKey(queries.end)};
    const int64_t begin = seen.begin / kKeys, end = seen.count() > 0 ? (seen.end + kKeys - 1) / kKeys : begin;
    if (end > begin)
        reduceStrip({.strip = end - begin, .stride = stride, .isMaximum = true, .factor = -1}, 0, stride,
                    blocks.maxima.data() + (firstBlock + begin) * stride, least);
    repeatRow(kKeys, stride, least);
    for (int64_t index = begin; index < end; ++index) {
        const Rows keys{std::max(index * kKeys, seen.begin), std::min((index + 1) * kKeys, seen.end)};
        if (of.isFar(queries.begin, queries.end, index * kKeys, std::min((index + 1) * kKeys, of.S))) {
            const int64_t at = (firstBlock + index) * stride;
            add(stride, blocks.maxima.data() + at, least, part);
            weigh(stride, 0, 1, part);
            for (int64_t d = 0; d < stride; ++d) {
                far[d] += part[d] * blocks.bottom[static_cast<size_t>(at + d)];
                far[stride + d] += part[d] * blocks.top[static_cast<size_t>(at + d)];
            }
            hasFar = true;
            continue;
        }
        weighKeys(of, rows + keys.begin, keys.count(), least, weights, weighed);
        writeNumbers(of, head, queries, keys, numbers);
        for (int64_t row = 0; row < queries.count(); ++row) {
            const float factor = advance(keys.count(), numbers + row * kKeys, &maxima[row], &unused[row]);
            if (factor == 1) continue;
            for (float* sums : {bottom, top}) scale(stride, factor, sums + row * stride, sums + row * stride);
        }
        // If later queries see more keys, the queries are computed in strips, which skip hidden keys.
        const int64_t strip = of.endKey(queries.begin + 1) < keys.end ? ChannelMean::kStrip : queries.count();
        for (int64_t row = 0; row < queries.count(); row += strip) {
            const int64_t last = std::min(row + strip, queries.count()),
                          columns = std::min(of.endKey(queries.begin + last), keys.end) - keys.begin;
            if (columns <= 0) continue;
            for (const auto& [sums, added] : {std::pair{bottom, weights}, {top, weighed}})
                product({last - row, stride, columns}, {numbers + row * kKeys, kKeys}, {added, stride},
                        sums + row * stride, stride, 1, 1);
        }
    }
    for (int64_t row = 0; hasFar && row < queries.count(); ++row) {
        float number[4] = {}; // of each far cell
        const float factor = advance(1, number, &maxima[row], &unused[row]);
        for (int64_t d = 0; d < stride; ++d) {
            bottom[row * stride + d] = bottom[row * stride + d] * factor + number[0] * far[d];
            top[row * stride + d] = top[row * stride + d] * factor + number[0] * far[stride + d];
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
    KeyBlocks keys(of);
    pool.run(of.B * of.H * keys.count, [&](int64_t i) { readBlock(of, i / keys.count, i % keys.count, keys); });
    const int64_t blocks = (of.T + kQueries - 1) / kQueries;
    pool.run(of.B * of.H * blocks, [&](int64_t i) {
        const int64_t head = i / blocks, first = (blocks - 1 - i % blocks) * kQueries;
        meanOf(of, keys, head / of.H, head % of.H, {first, std::min(first + kQueries, of.T)}, z);
    });
}

} // namespace attn::host
