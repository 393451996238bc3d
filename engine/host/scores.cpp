#include "engine/host/scores.h"

#include <algorithm>
#include <array>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/host/scores.cpp"
#include <hwy/foreach_target.h>

#include "engine/host/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn::host::HWY_NAMESPACE {

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

void hideUnsetV(uint32_t bits, int64_t keys, float* scores) {
    const hn::RebindToUnsigned<Floats> unsignedIntegers;
    const auto all = hn::Set(unsignedIntegers, bits), one = hn::Set(unsignedIntegers, 1u);
    vectors(keys, [&](auto access, int64_t i) HWY_ATTR {
        const auto own = hn::Shl(one, hn::Iota(unsignedIntegers, static_cast<uint32_t>(i)));
        const auto isSeen = hn::RebindMask(Floats(), hn::TestBit(all, own));
        access.store(hn::IfThenElse(isSeen, access.load(scores + i), hn::Set(Floats(), kHiddenScore)), scores + i);
    });
}

float advanceV(int64_t keys, float* scores, float* maximum, float* sum) {
    Vector most = hn::Set(Floats(), *maximum);
    const Vector hidden = hn::Set(Floats(), kHiddenScore);
    vectors(keys, [&](auto access, int64_t i)
                      HWY_ATTR { most = hn::Max(access.orElse(access.load(scores + i), hidden), most); });
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

void weighV(int64_t keys, float maximum, float inverse, float* scores) {
    const Vector offset = hn::Set(Floats(), maximum), by = hn::Set(Floats(), inverse);
    vectors(keys, [&](auto access, int64_t i) HWY_ATTR {
        access.store(hn::Mul(exponential(hn::Sub(access.load(scores + i), offset)), by), scores + i);
    });
}

void addWeightsV(int64_t keys, float maximum, float inverse, const float* scores, float* sums) {
    const Vector offset = hn::Set(Floats(), maximum), by = hn::Set(Floats(), inverse);
    vectors(keys, [&](auto access, int64_t i) HWY_ATTR {
        const Vector weight = exponential(hn::Sub(access.load(scores + i), offset));
        access.store(hn::MulAdd(weight, by, access.load(sums + i)), sums + i);
    });
}

void keepLargestV(int64_t keys, float maximum, float shift, const float* scores, float* largest) {
    const Vector offset = hn::Set(Floats(), maximum), added = hn::Set(Floats(), shift);
    vectors(keys, [&](auto access, int64_t i) HWY_ATTR {
        const Vector score = hn::Add(hn::Sub(access.load(scores + i), offset), added);
        access.store(hn::Max(score, access.load(largest + i)), largest + i);
    });
}

/// Subtracts the slope times the distance from each score.
void slopeV(int64_t keys, float slope, int32_t at, const int32_t* positions, float* scores) {
    const hn::RebindToSigned<Floats> integers;
    const auto own = hn::Set(integers, at);
    const Vector by = hn::Set(Floats(), slope);
    vectors(keys, [&](auto access, int64_t i) HWY_ATTR {
        const auto position = hn::BitCast(integers, access.load(reinterpret_cast<const float*>(positions) + i));
        const Vector distance = hn::ConvertTo(Floats(), hn::Abs(hn::Sub(own, position)));
        access.store(hn::NegMulAdd(by, distance, access.load(scores + i)), scores + i);
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
HWY_EXPORT(hideUnsetV);
HWY_EXPORT(advanceV);
HWY_EXPORT(patternGradientV);
HWY_EXPORT(weighV);
HWY_EXPORT(addWeightsV);
HWY_EXPORT(keepLargestV);
HWY_EXPORT(slopeV);
HWY_EXPORT(dotV);

} // namespace

Rows positionsOf(const int32_t* positions, Rows rows, int64_t step) {
    Rows range{positions[rows.begin], positions[rows.begin]};
    for (int64_t i = rows.begin; i < rows.end; i += step) {
        range.begin = std::min<int64_t>(range.begin, positions[i]);
        range.end = std::max<int64_t>(range.end, positions[i]);
    }
    return range;
}

Sight sightOf(const Attention& of, Rows queries, Rows keys) {
    if (keys.end <= of.firstSeen) return Sight::Nothing;
    const Rows at = positionsOf(of.keyPosition, keys);
    if (of.causal && at.begin > queries.end) return Sight::Nothing;
    if (of.window != 0 && queries.begin - at.end >= of.window) return Sight::Nothing;
    const bool hidesLater = of.causal && at.end > queries.begin;
    const bool hidesEarlier = of.window != 0 && queries.end - at.begin >= of.window;
    return hidesLater || hidesEarlier || keys.begin < of.firstSeen ? Sight::Part : Sight::All;
}

Rows keysFor(const Attention& of, int64_t query) {
    if (of.sequence == 0) return {0, of.S};
    const int64_t first = query / of.sequence * of.sequence;
    return {std::min(first, of.S), std::min(first + of.sequence, of.S)};
}

void scoreBlock(const Attention& of, const ScoreBlock& block, Sight sight, float* scores, int64_t stride) {
    const int64_t group = block.head / (of.H / of.G);
    product({block.queries, block.keys.count(), of.D},
            {of.q + (block.query * of.H + block.head) * of.stride, block.step * of.H * of.stride},
            {of.k + (block.keys.begin * of.G + group) * of.stride, of.G * of.stride, true}, scores, stride, of.scale);
    for (int64_t row = 0; row < block.queries; ++row)
        applyRule(of, block.head, block.query + row * block.step, block.keys, sight, scores + row * stride);
}

void steadyScores(const Attention& of, const ScoreBlock& block, Sight sight, float* scores, int64_t stride) {
    const int64_t group = block.head / (of.H / of.G), keys = block.keys.count();
    Factor k = padded(of.k + (block.keys.begin * of.G + group) * of.stride, keys, steadyColumns(keys), of.G * of.stride,
                      of.stride, 7);
    k.isTransposed = true;
    steadyProduct({block.queries, steadyColumns(keys), of.D},
                  {of.q + (block.query * of.H + block.head) * of.stride, block.step * of.H * of.stride}, k, scores,
                  stride, of.scale);
    for (int64_t row = 0; row < block.queries; ++row)
        applyRule(of, block.head, block.query + row * block.step, block.keys, sight, scores + row * stride);
}

Factor padded(const float* rows, int64_t count, int64_t places, int64_t step, int64_t width, int which) {
    if (places == count) return {rows, step};
    float* to = scratch(static_cast<size_t>(places * width), which);
    for (int64_t row = 0; row < count; ++row) std::copy_n(rows + row * step, width, to + row * width);
    std::fill(to + count * width, to + places * width, 0.0f);
    return {to, width};
}

void applyRule(const Attention& of, int64_t head, int64_t query, Rows keys, Sight sight, float* scores) {
    const int32_t at = of.queryPosition[query], *positions = of.keyPosition + keys.begin;
    if (of.bias != nullptr) {
        const float* bias = of.bias + head * of.biasStride + of.biasColumns / 2 - at;
        for (int64_t s = 0; s < keys.count(); ++s) {
            const int32_t position = positions[s];
            const bool isSeen = !(of.causal && position > at) && !(of.window != 0 && at - position >= of.window);
            if (isSeen) scores[s] += bias[position]; // hidden distances may lie outside the table
        }
    }
    if (of.slopes != nullptr && of.slopes[head] != 0)
        HWY_DYNAMIC_DISPATCH(slopeV)(keys.count(), of.slopes[head], at, positions, scores);
    if (sight == Sight::Part) HWY_DYNAMIC_DISPATCH(hideV)(of, query, keys.begin, keys.count(), scores);
    Rows seen = keysFor(of, query);
    seen.begin = std::max(seen.begin, of.firstSeen);
    std::fill_n(scores, std::clamp<int64_t>(seen.begin - keys.begin, 0, keys.count()), kHiddenScore);
    std::fill(scores + std::clamp<int64_t>(seen.end - keys.begin, 0, keys.count()), scores + keys.count(),
              kHiddenScore);
}

void hideUnset(uint32_t bits, int64_t keys, float* scores) { HWY_DYNAMIC_DISPATCH(hideUnsetV)(bits, keys, scores); }
float advance(int64_t keys, float* scores, float* maximum, float* sum) {
    return HWY_DYNAMIC_DISPATCH(advanceV)(keys, scores, maximum, sum);
}
void weigh(int64_t keys, float maximum, float inverse, float* scores) {
    HWY_DYNAMIC_DISPATCH(weighV)(keys, maximum, inverse, scores);
}
void addWeights(int64_t keys, float maximum, float inverse, const float* scores, float* sums) {
    HWY_DYNAMIC_DISPATCH(addWeightsV)(keys, maximum, inverse, scores, sums);
}
void keepLargest(int64_t keys, float maximum, float shift, const float* scores, float* largest) {
    HWY_DYNAMIC_DISPATCH(keepLargestV)(keys, maximum, shift, scores, largest);
}
void patternGradient(int64_t keys, float maximum, float inverse, float gate, float delta, float scale, float* scores,
                     float* products) {
    HWY_DYNAMIC_DISPATCH(patternGradientV)(keys, maximum, inverse, gate, delta, scale, scores, products);
}
float dot(int64_t count, const float* a, const float* b) { return HWY_DYNAMIC_DISPATCH(dotV)(count, a, b); }

float* scratch(size_t floats, int which) {
    thread_local std::array<std::vector<float>, 8> buffers;
    std::vector<float>& buffer = buffers.at(static_cast<size_t>(which));
    if (buffer.size() < floats) buffer.resize(floats);
    return buffer.data();
}

} // namespace attn::host
#endif
