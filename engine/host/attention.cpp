#include "engine/host/attention.h"

#include "engine/host/elementwise.h"
#include "engine/host/product.h"
#include "engine/host/rows.h"

#include <algorithm>
#include <numbers>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/attention.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

constexpr float kHiddenScore = -1e30f;
/// The least maximum of a row: exp(kHiddenScore - kLeastMaximum) is 0.
constexpr float kLeastMaximum = -1e29f;

/// Sets the scores of keys that a query does not see.
void hideV(const Attention& of, int64_t query, int64_t firstKey, int64_t keys, float* scores) {
    const hn::RebindToSigned<Floats> integers;
    const int32_t at = of.queryPosition[query];
    const auto newest = hn::Set(integers, at);
    const auto oldest = hn::Set(integers, of.window == 0 ? INT32_MIN : static_cast<int32_t>(at - of.window));
    const auto lanes = static_cast<int64_t>(hn::Lanes(integers));
    const int32_t* positions = of.keyPosition + firstKey;
    int64_t s = 0;
    for (; s + lanes <= keys; s += lanes) {
        const auto position = hn::LoadU(integers, positions + s);
        auto hidden = hn::Not(hn::Gt(position, oldest));
        if (of.causal) hidden = hn::Or(hidden, hn::Gt(position, newest));
        const auto isHidden = hn::RebindMask(Floats(), hidden);
        hn::StoreU(hn::IfThenElse(isHidden, hn::Set(Floats(), kHiddenScore), hn::LoadU(Floats(), scores + s)), Floats(),
                   scores + s);
    }
    for (; s < keys; ++s)
        if ((of.causal && positions[s] > at) || (of.window != 0 && at - positions[s] >= of.window))
            scores[s] = kHiddenScore;
}

/// Turns a row of scores into exponentials and updates the row's maximum and sum. @return the factor of what was summed
/// before
float advanceV(int64_t keys, float* scores, float* maximum, float* sum) {
    Vector most = hn::Set(Floats(), *maximum);
    const Vector hidden = hn::Set(Floats(), kHiddenScore);
    vectors(keys, [&](auto access, int64_t i)
                      HWY_ATTR { most = hn::Max(most, access.orElse(access.load(scores + i), hidden)); });
    const float newMaximum = maximumOf(most);
    const Vector offset = hn::Set(Floats(), newMaximum);
    Vector added = hn::Zero(Floats());
    vectors(keys, [&](auto access, int64_t i) HWY_ATTR {
        const Vector value = exponential(hn::Sub(access.load(scores + i), offset));
        added = hn::Add(added, access.orZero(value));
        access.store(value, scores + i);
    });
    const float factor =
        newMaximum == *maximum ? 1 : hn::GetLane(exponential(hn::Set(Floats(), *maximum - newMaximum)));
    *sum = *sum * factor + sumOf(added);
    *maximum = newMaximum;
    return factor;
}

/// From a row of scores and one of products dz . v: the pattern, and the gradient of the scores in place of the
/// products. @param gate of the head  @param delta z . dz
void patternGradientV(int64_t keys, float maximum, float inverse, float gate, float delta, float scale, float* scores,
                      float* products) {
    const Vector offset = hn::Set(Floats(), maximum), by = hn::Set(Floats(), inverse), of = hn::Set(Floats(), gate),
                 less = hn::Set(Floats(), delta), factor = hn::Set(Floats(), scale);
    vectors(keys, [&](auto access, int64_t i) HWY_ATTR {
        const Vector p = hn::Mul(exponential(hn::Sub(access.load(scores + i), offset)), by);
        const Vector d = hn::MulSub(of, access.load(products + i), less);
        access.store(hn::Mul(hn::Mul(p, d), factor), products + i);
        access.store(hn::Mul(p, of), scores + i);
    });
}

float dotV(int64_t count, const float* a, const float* b) {
    Vector sum = hn::Zero(Floats());
    vectors(count,
            [&](auto access, int64_t i) HWY_ATTR { sum = hn::MulAdd(access.load(a + i), access.load(b + i), sum); });
    return sumOf(sum);
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {
namespace {

HWY_EXPORT(hideV);
HWY_EXPORT(advanceV);
HWY_EXPORT(patternGradientV);
HWY_EXPORT(dotV);

constexpr int64_t kQueries = 64, kKeys = 128; // of a block, whose scores stay in the cache
constexpr float kHidden = -1e30f, kLeast = -1e29f;

/// Rows [begin, end) of queries or keys.
struct Rows {
    int64_t begin = 0, end = 0;
    int64_t count() const { return end - begin; }
};

/// What a block of queries sees of a block of keys.
enum class Sight { Nothing, Part, All };

Rows positionsOf(const int32_t* positions, Rows rows) {
    const auto [least, most] = std::minmax_element(positions + rows.begin, positions + rows.end);
    return {*least, *most};
}

/// @param queries the range of the queries' positions
Sight sightOf(const Attention& of, Rows queries, Rows keys) {
    const Rows at = positionsOf(of.keyPosition, keys);
    if (of.causal && at.begin > queries.end) return Sight::Nothing;
    if (of.window != 0 && queries.begin - at.end >= of.window) return Sight::Nothing;
    const bool hidesLater = of.causal && at.end > queries.begin;
    const bool hidesEarlier = of.window != 0 && queries.end - at.begin >= of.window;
    return hidesLater || hidesEarlier ? Sight::Part : Sight::All;
}

/// The blocks of queries, none of which holds rows of two sequences.
std::vector<Rows> queryBlocks(const Attention& of) {
    std::vector<Rows> blocks;
    const int64_t length = of.sequence == 0 ? std::max<int64_t>(of.T, 1) : of.sequence;
    for (int64_t first = 0; first < of.T; first += length)
        for (int64_t t = first; t < std::min(first + length, of.T); t += kQueries)
            blocks.push_back({t, std::min({t + kQueries, first + length, of.T})});
    return blocks;
}

/// The keys of the sequence that a query belongs to.
Rows keysFor(const Attention& of, int64_t query) {
    if (of.sequence == 0) return {0, of.S};
    const int64_t first = query / of.sequence * of.sequence;
    return {std::min(first, of.S), std::min(first + of.sequence, of.S)};
}

float* scratch(size_t floats, int which) {
    thread_local std::vector<float> buffers[3];
    std::vector<float>& buffer = buffers[which];
    if (buffer.size() < floats) buffer.resize(floats);
    return buffer.data();
}

const float* queryRow(const Attention& of, const float* rows, int64_t t, int64_t head) {
    return rows + (t * of.H + head) * of.stride;
}
float* queryRow(const Attention& of, float* rows, int64_t t, int64_t head) {
    return rows + (t * of.H + head) * of.stride;
}
int64_t groupOf(const Attention& of, int64_t head) { return head / (of.H / of.G); }

/// Scores [queries, keys] with rows of kKeys.
void scoreBlock(const Attention& of, int64_t head, Rows queries, Rows keys, Sight sight, float* scores) {
    product({queries.count(), keys.count(), of.D}, {queryRow(of, of.q, queries.begin, head), of.H * of.stride},
            {of.k + (keys.begin * of.G + groupOf(of, head)) * of.stride, of.G * of.stride, true}, scores, kKeys,
            of.scale);
    for (int64_t t = queries.begin; t < queries.end; ++t) {
        float* row = scores + (t - queries.begin) * kKeys;
        if (of.bias != nullptr) {
            const float* bias = of.bias + head * of.biasStride + of.biasColumns / 2 - of.queryPosition[t];
            for (int64_t s = 0; s < keys.count(); ++s) {
                const int32_t position = of.keyPosition[keys.begin + s];
                const bool isSeen = !(of.causal && position > of.queryPosition[t]) &&
                                    !(of.window != 0 && of.queryPosition[t] - position >= of.window);
                if (isSeen) row[s] += bias[position]; // hidden distances may lie outside the table
            }
        }
        if (sight == Sight::Part) HWY_DYNAMIC_DISPATCH(hideV)(of, t, keys.begin, keys.count(), row);
    }
}

void writeStatistics(const Attention& of, int64_t head, int64_t t, float maximum, float sum, float* statistics) {
    float* row = statistics + (head * of.capacity + t) * 4;
    row[0] = sum > 0 ? maximum * std::numbers::log2e_v<float> : -1e20f;
    row[1] = sum > 0 ? 1 / sum : 0;
    row[2] = row[3] = 0;
}

void attentionBlock(const Attention& of, int64_t head, Rows queries, float* z, float* statistics) {
    float* scores = scratch(kQueries * kKeys, 0);
    float maxima[kQueries], sums[kQueries];
    std::fill_n(maxima, queries.count(), kLeast);
    std::fill_n(sums, queries.count(), 0.0f);
    for (int64_t t = queries.begin; t < queries.end; ++t) std::fill_n(queryRow(of, z, t, head), of.stride, 0.0f);
    const Rows at = positionsOf(of.queryPosition, queries), all = keysFor(of, queries.begin);
    for (int64_t s = all.begin; s < all.end; s += kKeys) {
        const Rows keys{s, std::min(s + kKeys, all.end)};
        const Sight sight = sightOf(of, at, keys);
        if (sight == Sight::Nothing) continue;
        scoreBlock(of, head, queries, keys, sight, scores);
        for (int64_t row = 0; row < queries.count(); ++row) {
            const float factor =
                HWY_DYNAMIC_DISPATCH(advanceV)(keys.count(), scores + row * kKeys, &maxima[row], &sums[row]);
            float* out = queryRow(of, z, queries.begin + row, head);
            if (factor != 1) scale(of.D, factor, out, out);
        }
        product({queries.count(), of.D, keys.count()}, {scores, kKeys},
                {of.v + (s * of.G + groupOf(of, head)) * of.stride, of.G * of.stride},
                queryRow(of, z, queries.begin, head), of.H * of.stride, 1, 1);
    }
    for (int64_t row = 0; row < queries.count(); ++row) {
        float* out = queryRow(of, z, queries.begin + row, head);
        scale(of.D, sums[row] > 0 ? of.gates[head] / sums[row] : 0, out, out);
        writeStatistics(of, head, queries.begin + row, maxima[row], sums[row], statistics);
    }
}

/// One query by itself, for the heads of a group: its keys and values are read once.
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
            if (of.bias != nullptr) {
                const float* bias = of.bias + head * of.biasStride + of.biasColumns / 2 - of.queryPosition[t];
                for (int64_t s = 0; s < keys.count(); ++s)
                    if (const int32_t position = of.keyPosition[keys.begin + s];
                        !(of.causal && position > of.queryPosition[t]) &&
                        !(of.window != 0 && of.queryPosition[t] - position >= of.window))
                        row[s] += bias[position];
            }
            HWY_DYNAMIC_DISPATCH(hideV)(of, t, keys.begin, keys.count(), row);
            float maximum = kLeast, sum = 0;
            HWY_DYNAMIC_DISPATCH(advanceV)(keys.count(), row, &maximum, &sum);
            float* out = queryRow(of, z, t, head);
            weightedSum(keys.count(), of.D, row, of.v + (keys.begin * of.G + group) * of.stride, of.G * of.stride, out);
            scale(of.D, sum > 0 ? of.gates[head] / sum : 0, out, out);
            writeStatistics(of, head, t, maximum, sum, statistics);
        }
    }
}

/// The heads of a group in one sequence, whose keys no other task writes.
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
                row[2] = HWY_DYNAMIC_DISPATCH(dotV)(of.D, queryRow(of, g.z, t, head), queryRow(of, g.dz, t, head));
                row[3] = 0;
                std::fill_n(queryRow(of, g.dq, t, head), of.stride, 0.0f);
            }
            const float *dz = queryRow(of, g.dz, queries.begin, head), *q = queryRow(of, of.q, queries.begin, head);
            for (int64_t s = all.begin; s < all.end; s += kKeys) {
                const Rows keys{s, std::min(s + kKeys, all.end)};
                const Sight sight = sightOf(of, at, keys);
                if (sight == Sight::Nothing) continue;
                const int64_t key = (s * of.G + group) * of.stride;
                scoreBlock(of, head, queries, keys, sight, scores);
                product({queries.count(), keys.count(), of.D}, {dz, stride}, {of.v + key, keyStride, true}, products,
                        kKeys);
                for (int64_t row = 0; row < queries.count(); ++row) {
                    const float* statistics = g.products + (head * of.capacity + queries.begin + row) * 4;
                    const float maximum = statistics[1] > 0 ? statistics[0] / std::numbers::log2e_v<float> : kLeast;
                    HWY_DYNAMIC_DISPATCH(patternGradientV)
                    (keys.count(), maximum, statistics[1], of.gates[head], statistics[2], of.scale,
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
    if (of.T <= kMostSkinnyRows) {
        constexpr int64_t kWork = 1 << 16; // of a thread, in multiply-adds
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
#endif
