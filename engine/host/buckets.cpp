#include "engine/host/buckets.h"

#include "engine/host/elementwise.h"
#include "engine/host/product.h"
#include "engine/host/reduce.h"
#include "engine/host/scores.h"

#include <algorithm>
#include <numbers>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/buckets.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

/// Hides the keys that a query does not meet in this round or met in an earlier one, and lowers the score of its own
/// key.
/// @param codes of the keys in rounds 0 to `round`, `step` apart, and of the query
void meetV(int64_t keys, int64_t round, int64_t step, bool isCausal, float ownPenalty, int32_t own,
           const int32_t* tokens, const int32_t* codes, const int32_t* ownCodes, float* scores) {
    const hn::RebindToSigned<Floats> integers;
    const auto zero = hn::Zero(integers), one = hn::Set(integers, 1), query = hn::Set(integers, own);
    const Vector penalty = hn::Set(Floats(), ownPenalty), hidden = hn::Set(Floats(), kHiddenScore);
    vectors(keys, [&](auto access, int64_t i) HWY_ATTR {
        const auto loadIntegers = [&](const int32_t* from) HWY_ATTR {
            return hn::BitCast(integers, access.load(reinterpret_cast<const float*>(from) + i));
        };
        const auto meets = [&](int64_t r) HWY_ATTR {
            const auto difference = hn::Sub(hn::Set(integers, ownCodes[r]), loadIntegers(codes + r * step));
            return hn::Or(hn::Eq(difference, zero), hn::Eq(difference, one));
        };
        auto seen = meets(round);
        for (int64_t r = 0; r < round; ++r) seen = hn::AndNot(meets(r), seen);
        const auto token = loadIntegers(tokens);
        if (isCausal) seen = hn::AndNot(hn::Gt(token, query), seen);
        Vector score = access.load(scores + i);
        score = hn::IfThenElse(hn::RebindMask(Floats(), hn::Eq(token, query)), hn::Sub(score, penalty), score);
        access.store(hn::IfThenElse(hn::RebindMask(Floats(), seen), score, hidden), scores + i);
    });
}

} // namespace attn::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::host {
namespace {

HWY_EXPORT(meetV);

/// Rows of tokens at some places of a round, copied one after another.
class Gathered {
public:
    Gathered(const BucketAttention& of, int64_t m, int64_t round, Rows places)
        : of_(of), m_(m), order_(of.order + (m * of.R + round) * of.orderStride + places.begin),
          count_(places.count()) {}
    int64_t count() const { return count_; }
    const int32_t* tokens() const { return order_; }
    int64_t row(int64_t i) const { return m_ * of_.T + order_[i]; }
    const float* copy(const float* from, int which) const {
        float* to = scratch(static_cast<size_t>(count_ * of_.stride), which);
        for (int64_t i = 0; i < count_; ++i) std::copy_n(from + row(i) * of_.stride, of_.stride, to + i * of_.stride);
        return to;
    }
    /// Adds rows to those of the tokens.
    void add(const float* rows, float* to) const {
        for (int64_t i = 0; i < count_; ++i)
            host::add(of_.D, to + row(i) * of_.stride, rows + i * of_.stride, to + row(i) * of_.stride);
    }

private:
    const BucketAttention& of_;
    int64_t m_;
    const int32_t* order_;
    int64_t count_;
};

/// Calls visit(queries, keys, copies of the queries, keys and values, scores) for each chunk of each round.
/// Scores are `keys.count()` rounded up to 16 apart.
template <typename Visit> void overChunks(const BucketAttention& of, int64_t m, const Visit& visit) {
    std::vector<int32_t> codes(static_cast<size_t>(of.R * 2 * of.chunk)), own(static_cast<size_t>(of.R));
    for (int64_t round = 0; round < of.R; ++round)
        for (int64_t first = 0; first < of.T; first += of.chunk) {
            const Gathered queries(of, m, round, {first, std::min(first + of.chunk, of.T)});
            const Gathered keys(of, m, round,
                                {std::max<int64_t>(first - of.chunk, 0), std::min(first + of.chunk, of.T)});
            const float *q = queries.copy(of.q, 0), *k = keys.copy(of.k, 1), *v = keys.copy(of.v, 2);
            const int64_t step = (keys.count() + 15) / 16 * 16;
            float* scores = scratch(static_cast<size_t>(queries.count() * step), 3);
            product({queries.count(), keys.count(), of.D}, {q, of.stride}, {k, of.stride, true}, scores, step,
                    of.scale);
            const int32_t* code = of.code + m * of.R * of.orderStride;
            for (int64_t r = 0; r <= round; ++r)
                for (int64_t i = 0; i < keys.count(); ++i)
                    codes[static_cast<size_t>(r * 2 * of.chunk + i)] = code[r * of.orderStride + keys.tokens()[i]];
            for (int64_t i = 0; i < queries.count(); ++i) {
                const int32_t token = queries.tokens()[i];
                for (int64_t r = 0; r <= round; ++r) own[static_cast<size_t>(r)] = code[r * of.orderStride + token];
                HWY_DYNAMIC_DISPATCH(meetV)
                (keys.count(), round, 2 * of.chunk, of.isCausal, of.ownPenalty, token, keys.tokens(), codes.data(),
                 own.data(), scores + i * step);
            }
            visit(queries, keys, q, k, v, scores, step);
        }
}

} // namespace

void bucketAttention(const BucketAttention& of, float* z, float* statistics, int64_t column, Pool& pool) {
    pool.run(of.M, [&](int64_t m) {
        std::vector<float> maxima(static_cast<size_t>(of.T), kLeastMaximum), sums(static_cast<size_t>(of.T), 0.0f);
        std::fill_n(z + m * of.T * of.stride, of.T * of.stride, 0.0f);
        overChunks(of, m,
                   [&](const Gathered& queries, const Gathered& keys, const float*, const float*, const float* v,
                       float* scores, int64_t step) {
                       for (int64_t i = 0; i < queries.count(); ++i) {
                           const auto token = static_cast<size_t>(queries.tokens()[i]);
                           const float factor = advance(keys.count(), scores + i * step, &maxima[token], &sums[token]);
                           float* row = z + queries.row(i) * of.stride;
                           if (factor != 1) scale(of.D, factor, row, row);
                       }
                       float* mixed = scratch(static_cast<size_t>(queries.count() * of.stride), 4);
                       product({queries.count(), of.D, keys.count()}, {scores, step}, {v, of.stride}, mixed, of.stride);
                       queries.add(mixed, z);
                   });
        for (int64_t t = 0; t < of.T; ++t) {
            const float sum = sums[static_cast<size_t>(t)];
            float *row = z + (m * of.T + t) * of.stride, *to = statistics + (m * of.T + t) * 4;
            scale(of.D, sum > 0 ? 1 / sum : 0, row, row);
            std::fill_n(to, 4, 0.0f);
            to[column] = maxima[static_cast<size_t>(t)] * std::numbers::log2e_v<float>;
            to[column + 1] = sum > 0 ? 1 / sum : 0;
        }
    });
}

void bucketAttentionGradient(const BucketAttention& of, const BucketGradient& g, Pool& pool) {
    pool.run(of.M, [&](int64_t m) {
        for (float* each : {g.dq, g.dk, g.dv}) std::fill_n(each + m * of.T * of.stride, of.T * of.stride, 0.0f);
        overChunks(
            of, m,
            [&](const Gathered& queries, const Gathered& keys, const float* q, const float* k, const float* v,
                float* pattern, int64_t step) {
                const float* dz = queries.copy(g.dz, 4);
                float* ds = scratch(static_cast<size_t>(queries.count() * step), 5);
                product({queries.count(), keys.count(), of.D}, {dz, of.stride}, {v, of.stride, true}, ds, step);
                for (int64_t i = 0; i < queries.count(); ++i) {
                    const float* given = g.statistics + queries.row(i) * 4;
                    // The query sees only itself, and the penalty leaves few digits of its score.
                    const bool isAlone = given[0] < -of.ownPenalty / 2;
                    const float maximum =
                        isAlone ? std::max(kLeastMaximum, reduceLines(true, 1, keys.count(), pattern + i * step))
                                : given[0] / std::numbers::log2e_v<float>;
                    patternGradient(keys.count(), maximum, given[1], 1, g.products[queries.row(i) * 4], of.scale,
                                    pattern + i * step, ds + i * step);
                }
                float* sums = scratch(static_cast<size_t>(keys.count() * of.stride), 6);
                product({keys.count(), of.D, queries.count()}, {pattern, step, true}, {dz, of.stride}, sums, of.stride);
                keys.add(sums, g.dv);
                product({keys.count(), of.D, queries.count()}, {ds, step, true}, {q, of.stride}, sums, of.stride);
                keys.add(sums, g.dk);
                product({queries.count(), of.D, keys.count()}, {ds, step}, {k, of.stride}, sums, of.stride);
                queries.add(sums, g.dq);
            });
    });
}

} // namespace attn::host
#endif
