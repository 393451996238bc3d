#include "engine/attention/normaliser/feature_mix.h"
#include "engine/attention/terms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

namespace attn {

using namespace terms;

Tensor largestOver(Tensor x, int axis) { return reduce(stopGradient(x), Reduction::Maximum, {axis}); }

Tensor runningMaximum(Tensor x, int axis) {
    x = stopGradient(x);
    std::vector<int64_t> extents = x.shape().extents();
    const int64_t rows = extents[static_cast<size_t>(axis)];
    for (int64_t reach = 1; reach < rows; reach *= 2) {
        extents[static_cast<size_t>(axis)] = reach;
        const std::array earlier{fill(*x.graph, Shape(extents), kMasked), slice(x, axis, 0, rows - reach)};
        x = binary(x, concatenate(earlier, axis), Binary::Maximum);
    }
    return x;
}

namespace {

constexpr int64_t kChunk = 64;
constexpr int64_t kMostShown = int64_t{1} << 22; ///< numbers of all states
constexpr double kLeast = kMasked;               ///< the exponent of no key
constexpr double kMostExponent = 80;             ///< of a number in single precision

Tensor exponential(Tensor x) { return unary(x, Unary::Exponential); }

/// factors exp(exponent); null stands for 1 and for 0.
Tensor scaled(Tensor factors, Tensor exponent) {
    if (!exponent) return factors;
    return factors ? times(factors, exponential(exponent)) : exponential(exponent);
}

/// The sum of each index of an axis and those before it, where each is relative to its own exponential: neighbours are
/// added, then pairs of neighbours, and so on. @param largest rises along the axis; the other axes as of sums, or 1
Tensor runningSum(Tensor sums, Tensor largest, int axis) {
    const int64_t rows = sums.shape()[axis];
    for (int64_t reach = 1; reach < rows; reach *= 2) {
        const int64_t count = rows - reach;
        const Tensor factor = exponential(minus(slice(largest, axis, 0, count), slice(largest, axis, reach, count)));
        sums = plus(sums, pad(times(slice(sums, axis, 0, count), factor), axis, reach, 0));
    }
    return sums;
}

/// [c,c], 1 where the column is not after the row.
Tensor lowerTriangle(AttentionFlow& flow, int64_t size) {
    std::vector<float> values(static_cast<size_t>(size * size), 0);
    for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j <= i; ++j) values[static_cast<size_t>(i * size + j)] = 1;
    return flow.constant("normaliser.triangle" + std::to_string(size), {size, size}, std::move(values));
}

/// Rows in chunks: [B,H,T,width] as [BH,chunks,c,width], filled up with rows that count for nothing.
struct Chunks {
    int64_t sequences, rows, length, count;

    Chunks(int64_t all, int64_t rowsOfEach, int64_t longest)
        : sequences(all), rows(rowsOfEach),
          length(std::min(longest, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rowsOfEach))))),
          count((rowsOfEach + length - 1) / length) {}
    Tensor cut(Tensor x, double filler = 0) const {
        if (!x) return x;
        const int64_t width = x.shape()[3], more = count * length - rows;
        Tensor all = reshape(x, {sequences, rows, width});
        if (more > 0 && filler == 0) all = pad(all, 1, 0, more);
        if (more > 0 && filler != 0)
            all = concatenate(std::array{all, fill(*x.graph, {sequences, more, width}, filler)}, 1);
        return reshape(all, {sequences, count, length, width});
    }
    Features cut(const Features& x) const { return {cut(x.factors), cut(x.exponents, kLeast)}; }
    Tensor joined(Tensor x, int64_t batch) const {
        const int64_t width = x.shape()[3];
        return reshape(slice(reshape(x, {sequences, count * length, width}), 1, 0, rows),
                       {batch, sequences / batch, rows, width});
    }
};

/// The features of queries for sums that are relative to `largest`.
/// @param largest [..,T|1,F|1], null where keys have no exponents  @param rowLargest [..,T,1], null: 0
Tensor queriesFor(const Features& a, Tensor largest, Tensor rowLargest) {
    if (!largest) return a.factors;
    const Tensor exponent = a.exponents ? plus(a.exponents, largest) : largest;
    return scaled(a.factors, rowLargest ? minus(exponent, rowLargest) : exponent);
}

/// The largest exponent of each row's weights. @param largest [..,T|1,F|1] of the keys that a query sees
Tensor largestOfRows(const Features& a, Tensor largest) {
    const Tensor exponent = a.exponents ? plus(stopGradient(a.exponents), largest) : largest;
    return exponent.shape()[-1] == 1 ? exponent : largestOver(exponent, -1);
}

/// The pattern within each chunk under a causal mask. Queries of the second half of a chunk see all keys of the first,
/// whose largest exponents are then the same for all of them; each half is made of halves in the same way.
/// @param a, b [BH,chunks,c,F|1], c a power of two  @param rowLargest [BH,chunks,c,1] or null  @return
/// [BH,chunks,c,c]
Tensor causalPairs(const Features& a, const Features& b, Tensor rowLargest) {
    const Shape chunked = (b.exponents ? b.exponents : b.factors).shape();
    const int64_t chunks = chunked[0] * chunked[1], length = chunked[2];
    const Tensor own = queriesFor({.factors = b.factors, .exponents = a.exponents}, b.exponents, rowLargest);
    Tensor pairs = reshape(sumOver(a.factors ? times(a.factors, own) : own, -1), {chunks * length, 1, 1});
    for (int64_t half = 1; half < length; half *= 2) {
        const int64_t count = chunks * length / (2 * half);
        const auto part = [&](Tensor x, int64_t which) {
            if (!x) return x;
            const int64_t width = x.shape()[-1];
            return reshape(slice(reshape(x, {count, 2, half, width}), 1, which, 1), {count, half, width});
        };
        const Tensor keys = part(b.exponents, 0), largest = largestOver(keys, 1); // [count,1,F|1]
        const Tensor across =
            product(queriesFor({part(a.factors, 1), part(a.exponents, 1)}, largest, part(rowLargest, 1)),
                    scaled(part(b.factors, 0), minus(keys, largest))); // [count,half,half]
        const Tensor halves = reshape(pairs, {count, 2, half, half});
        const auto square = [&](int64_t which) { return reshape(slice(halves, 1, which, 1), {count, half, half}); };
        pairs = concatenate(std::array{pad(square(0), 2, 0, half), beside(across, square(1))}, 1);
    }
    return reshape(pairs, {chunked[0], chunked[1], length, length});
}

/// What carries over from earlier tokens: the sum of b_s v_s^T, relative to the exponential of `largest`.
struct RunningState {
    Tensor sums;    ///< [BH,F,columns of v]
    Tensor largest; ///< [BH,1,F|1]: the largest exponent so far; null where keys have none
};

/// @param x [..,1,F]  @return [..,F,1]: one for each row of a state
Tensor upright(Tensor x) {
    std::vector<int64_t> extents = x.shape().extents();
    std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
    return reshape(x, Shape(extents));
}

/// Sums over visible keys under a causal mask, in chunks. @param v with a last column of ones where sums are wanted
/// @param state of earlier tokens; receives that after the last one  @return [B,H,T,columns of v]
Tensor runningSums(AttentionFlow& flow, const Features& a, const Features& b, Tensor v, bool isNormalised,
                   RunningState& state) {
    const int64_t BH = flow.batch * flow.heads, columns = v.shape()[3], F = state.sums.shape()[1];
    const Chunks chunks(BH, flow.queries, kChunk);
    const int64_t count = chunks.count, c = chunks.length;
    const Features ac = chunks.cut(a), bc = chunks.cut(b);
    const Tensor vc = chunks.cut(v);
    Tensor pairs, keys = bc.factors, queries = ac.factors, ends; // ends [BH,count+1,1,F|1]
    if (bc.exponents) {
        const int64_t width = bc.exponents.shape()[3];
        const Tensor inChunk = runningMaximum(bc.exponents, 2);
        ends = concatenate(std::array{reshape(state.largest, {BH, 1, 1, width}), slice(inChunk, 2, c - 1, 1)}, 1);
        ends = runningMaximum(ends, 1);
        const Tensor before = slice(ends, 1, 0, count), largest = binary(inChunk, before, Binary::Maximum);
        const Tensor ofRows = isNormalised ? largestOfRows(ac, largest) : Tensor();
        pairs = causalPairs(ac, bc, ofRows);
        keys = scaled(bc.factors, minus(bc.exponents, slice(ends, 1, 1, count)));
        queries = queriesFor(ac, before, ofRows);
    } else {
        pairs = times(product(queries, keys), lowerTriangle(flow, c));
    }
    const Tensor within = batchedMatmul(pairs, vc);              // [BH,chunks,c,columns]
    Tensor sums = batchedMatmul(keys, vc, {.transposeA = true}); // [BH,chunks,F|1,columns]
    sums = concatenate(std::array{reshape(state.sums, {BH, 1, F, columns}), sums}, 1);
    sums = ends ? runningSum(sums, upright(ends), 1) : cumulativeSum(sums, 1);
    state.sums = reshape(slice(sums, 1, count, 1), {BH, F, columns});
    if (ends) state.largest = reshape(slice(ends, 1, count, 1), {BH, 1, ends.shape()[3]});
    return chunks.joined(plus(within, batchedMatmul(queries, slice(sums, 1, 0, count))), flow.batch);
}

/// One token: S_t = S_{t-1} + b_t v_t^T, z_t = a_t S_t.
Tensor oneStep(AttentionFlow& flow, const Features& a, const Features& b, Tensor v, bool isNormalised,
               RunningState& state) {
    const int64_t BH = flow.batch * flow.heads;
    const auto rowOf = [&](Tensor x) { return x ? reshape(x, {BH, 1, x.shape()[3]}) : x; };
    const Features query{rowOf(a.factors), rowOf(a.exponents)}, key{rowOf(b.factors), rowOf(b.exponents)};
    Tensor largest, before = state.sums, added = key.factors;
    if (key.exponents) {
        largest = binary(stopGradient(key.exponents), state.largest, Binary::Maximum);
        before = times(before, exponential(upright(minus(state.largest, largest))));
        added = scaled(key.factors, minus(key.exponents, largest));
        state.largest = largest;
    }
    state.sums = plus(before, batchedMatmul(added, rowOf(v), {.transposeA = true}));
    const Tensor ofRow = largest && isNormalised ? largestOfRows(query, largest) : Tensor();
    return reshape(batchedMatmul(queriesFor(query, largest, ofRow), state.sums),
                   {flow.batch, flow.heads, 1, v.shape()[3]});
}

/// Sums over visible keys under a causal mask. Those of a step continue from the state of earlier steps.
Tensor causalSums(AttentionFlow& flow, const Features& a, const Features& b, Tensor v, bool isNormalised) {
    const int64_t BH = flow.batch * flow.heads;
    const Shape sums{BH, (b.factors ? b.factors : b.exponents).shape()[3], v.shape()[3]};
    const Shape largest{BH, 1, b.exponents ? b.exponents.shape()[3] : 1};
    RunningState state;
    if (!flow.isStep()) {
        state.sums = fill(flow.graph, sums, 0);
        if (b.exponents) state.largest = fill(flow.graph, largest, kLeast);
        return runningSums(flow, a, b, v, isNormalised, state);
    }
    state.sums = flow.state("sums", sums);
    if (b.exponents) state.largest = flow.state("largest", largest, kLeast);
    const auto run = flow.queries == 1 ? oneStep : runningSums;
    const Tensor result = run(flow, a, b, v, isNormalised, state);
    flow.setState("sums", state.sums);
    if (b.exponents) flow.setState("largest", state.largest);
    return result;
}

/// The features of keys relative to the largest exponents of all. @param largest receives them
Tensor relativeKeys(const Features& b, Tensor& largest) {
    if (!b.exponents) return b.factors;
    largest = largestOver(b.exponents, 2);
    return scaled(b.factors, minus(b.exponents, largest));
}

/// z with the sum of the weights behind it if it is normalised.
Tensor divided(Tensor sums, int64_t width) { return share(slice(sums, 3, 0, width), slice(sums, 3, width, 1)); }

/// @return [B,H,T,D]
Tensor featureMix(AttentionFlow& flow, const Features& a, const Features& b, Tensor v, bool isNormalised) {
    const int64_t B = flow.batch, H = flow.heads, S = v.shape()[2], D = v.shape()[3];
    const Tensor extended = isNormalised ? beside(v, fill(flow.graph, {B, H, S, 1}, 1)) : v;
    if (flow.isStep() || flow.isCausal()) {
        const Tensor sums = causalSums(flow, a, b, extended, isNormalised);
        return isNormalised ? divided(sums, D) : sums;
    }
    Tensor largest;
    const Tensor keys = relativeKeys(b, largest);
    const Tensor queries = queriesFor(a, largest, largest && isNormalised ? largestOfRows(a, largest) : Tensor());
    const Tensor sums = batchedMatmul(queries, batchedMatmul(keys, extended, {.transposeA = true}));
    return isNormalised ? divided(sums, D) : sums;
}

/// The weights of a step's queries for the keys of all tokens. @param b of all tokens  @param own of the step's
Tensor stepWeights(AttentionFlow& flow, const Features& a, const Features& b, const Features& own, bool isNormalised) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, S = flow.keys;
    const Tensor first = reshape(toReal(slice(flow.positions, 0, 0, 1)), {1, 1});
    std::vector<float> places(static_cast<size_t>(S));
    std::iota(places.begin(), places.end(), 0.0f);
    const Tensor key = flow.constant("normaliser.keys", {1, S}, std::move(places));
    const Tensor isEarlier = binary(key, first, Binary::Less); // [1,S]
    const Tensor seen = select(reshape(isEarlier, {S, 1}), b.exponents, fill(flow.graph, {1, 1}, kLeast));
    const Tensor earlier = largestOver(seen, 2);
    const Tensor largest = binary(runningMaximum(own.exponents, 2), earlier, Binary::Maximum);
    const Tensor ofRows = isNormalised ? largestOfRows(a, largest) : Tensor();
    const Tensor before =
        times(product(queriesFor(a, earlier, ofRows), scaled(b.factors, minus(seen, earlier))), isEarlier);
    const Chunks all(B * H, T, 2 * T);
    Tensor pairs = causalPairs(all.cut(a), all.cut(own), all.cut(ofRows)); // [BH,1,c,c]
    pairs = slice(slice(reshape(pairs, {B * H, all.length, all.length}), 1, 0, T), 2, 0, T);
    const Tensor ids = broadcast(reshape(toInteger(minus(key, first)), {1, S}), {B * H, S});
    const Tensor placed = permute(take(permute(pairs, {0, 2, 1}), ids), {0, 2, 1}); // zeros for other keys
    return plus(before, reshape(placed, {B, H, T, S}));
}

/// Sets flow.pattern and flow.factors to the pattern that featureMix never forms.
/// @param own of a step's own keys, else null
void featurePattern(AttentionFlow& flow, const Features& a, const Features& b, const Features* own, bool isNormalised) {
    const bool isCausal = !own && flow.isCausal();
    Tensor largest, weights;
    const Tensor keys = relativeKeys(b, largest);
    Tensor ofRows = largest ? largestOfRows(a, largest) : Tensor();
    // Of weights that need no division, the exponents of keys that a query does not see could overflow.
    if (largest && !isNormalised) ofRows = unary(affine(ofRows, 1, -kMostExponent), Unary::Relu);
    const Tensor queries = queriesFor(a, largest, ofRows);
    if (!b.exponents) {
        weights = product(queries, keys);
        if (flow.mask) weights = times(weights, flow.mask);
    } else if (own) {
        weights = stepWeights(flow, a, b, *own, isNormalised);
    } else if (isCausal) {
        const Chunks all(flow.batch * flow.heads, flow.queries, 2 * flow.queries);
        const Tensor seen = runningMaximum(b.exponents, 2);
        const Tensor pairs =
            causalPairs(all.cut(a), all.cut(b), isNormalised ? all.cut(largestOfRows(a, seen)) : Tensor());
        weights = slice(all.joined(pairs, flow.batch), 3, 0, flow.keys);
    } else {
        weights = product(queries, keys);
    }
    flow.pattern = isNormalised ? share(weights, sumOver(weights, -1)) : weights;
    if (own || b.decays) return;
    Tensor ofQueries = queries;
    if (isNormalised) {
        const Tensor visible = isCausal ? cumulativeSum(keys, 2) : sumOver(keys, 2); // [B,H,T|1,F]
        ofQueries = share(queries, sumOver(times(queries, visible), -1));
    }
    flow.factors = PatternFactors{.queries = ofQueries, .keys = keys, .isCausal = isCausal};
}

/// Shows the state after every token, and the output that a recurrence reads from it.
void showStates(AttentionFlow& flow, const Features& a, const Features& b, bool isNormalised) {
    const int64_t BH = flow.batch * flow.heads, S = flow.keys, D = flow.width;
    const int64_t F = (b.factors ? b.factors : b.exponents).shape()[3];
    if (flow.queries != S || BH * S * F * D > kMostShown) return;
    Tensor keys = b.factors, largest, ofRows; // largest [B,H,S,F|1]
    if (b.exponents) {
        largest = runningMaximum(b.exponents, 2);
        keys = scaled(b.factors, minus(b.exponents, largest));
        if (isNormalised) ofRows = largestOfRows(a, largest);
    }
    const Tensor queries = reshape(queriesFor(a, largest, ofRows), {BH, S, 1, F});
    const Tensor rises = largest ? reshape(largest, {BH, S, largest.shape()[3], 1}) : Tensor();
    const auto stateOf = [&](Tensor v) { // S_t = S_{t-1} + b_t v_t^T
        const Tensor added = times(reshape(keys, {BH, S, F, 1}), reshape(v, {BH, S, 1, v.shape()[3]}));
        return rises ? runningSum(added, rises, 1) : cumulativeSum(added, 1);
    };
    const auto readBy = [&](Tensor states) { return batchedMatmul(queries, states); };
    const Tensor states = stateOf(flow.v), read = readBy(states); // [BH,S,F,D], [BH,S,1,D]
    Tensor shown = states;
    if (b.exponents && b.isBounded) shown = times(states, exponential(rises));
    if (b.exponents && !b.isBounded && rises.shape()[2] > 1)
        shown = times(states, exponential(minus(rises, largestOver(rises, 2))));
    flow.show("features.states", shown);
    const Tensor ones = fill(flow.graph, {flow.batch, flow.heads, S, 1}, 1);
    flow.show("features.recurrent",
              reshape(isNormalised ? share(read, readBy(stateOf(ones))) : read, {flow.batch, flow.heads, S, D}));
}

} // namespace

void mixFeatures(AttentionFlow& flow, const Features& a, const FeaturesOfKeys& ofKeys, bool isNormalised) {
    const Features b = ofKeys(flow.isStep() ? flow.newKeys : flow.k, true);
    if (flow.k)
        featurePattern(flow, a, flow.isStep() ? ofKeys(flow.k, false) : b, flow.isStep() ? &b : nullptr, isNormalised);
    if (!flow.isStep() && flow.isCausal()) showStates(flow, a, b, isNormalised);
    if (flow.isStep() || flow.mayFuse) // otherwise z is pattern . v
        flow.z = featureMix(flow, a, b, flow.isStep() ? flow.newValues : flow.v, isNormalised);
}

Tensor shownFeatures(const Features& features) {
    if (!features.exponents || features.exponents.shape()[-1] == 1) return features.factors;
    if (features.isBounded) return scaled(features.factors, features.exponents);
    return scaled(features.factors, minus(features.exponents, largestOver(features.exponents, -1)));
}

Tensor runningTotal(AttentionFlow& flow, const std::string& name, Tensor x) {
    if (!flow.isStep()) return cumulativeSum(x, 2);
    const Shape one{flow.batch, flow.heads, 1, x.shape()[3]};
    const Tensor totals = plus(cumulativeSum(x, 2), flow.state(name, one));
    flow.setState(name, slice(totals, 2, flow.queries - 1, 1));
    return totals;
}

VisibleTotal visibleTotal(AttentionFlow& flow, const std::string& name, Tensor exponents, Tensor x) {
    if (!flow.isStep() && !flow.isCausal()) {
        const Tensor largest = largestOver(exponents, 2);
        return {sumOver(times(x, exponential(minus(exponents, largest))), 2), largest};
    }
    const int64_t B = flow.batch, H = flow.heads, D = x.shape()[3];
    const Chunks chunks(B * H, flow.queries, kChunk);
    const Shape one{B * H, 1, 1, D};
    const auto initial = [&](const std::string& of, double value) {
        return flow.isStep() ? flow.state(name + of, one, value) : fill(flow.graph, one, value);
    };
    const Tensor weight = chunks.cut(exponents, kLeast), inChunk = runningMaximum(weight, 2);
    const int64_t count = chunks.count, last = chunks.length - 1;
    const Tensor ends = runningMaximum(
        concatenate(std::array{initial("_largest", kLeast), slice(inChunk, 2, last, 1)}, 1), 1); // [BH,count+1,1,D]
    const Tensor before = slice(ends, 1, 0, count), largest = binary(inChunk, before, Binary::Maximum);
    const Tensor sums = runningSum(times(chunks.cut(x), exponential(minus(weight, largest))), largest, 2);
    const Tensor totals = runningSum(concatenate(std::array{initial("_sums", 0), slice(sums, 2, last, 1)}, 1), ends, 1);
    const Tensor all = plus(sums, times(slice(totals, 1, 0, count), exponential(minus(before, largest))));
    if (flow.isStep()) {
        flow.setState(name + "_largest", slice(ends, 1, count, 1));
        flow.setState(name + "_sums", slice(totals, 1, count, 1));
    }
    return {chunks.joined(all, B), chunks.joined(largest, B)};
}

void referenceFeatureMix(ReferenceFlow& flow, const std::function<Weight(int64_t, int64_t, int64_t)>& product,
                         bool isNormalised) {
    flow.pattern = Dense({flow.heads, flow.queries, flow.keys});
    flow.z = Dense({flow.heads, flow.queries, flow.width});
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t) {
            std::map<int64_t, Weight> weights; // of visible keys
            for (int64_t s = 0; s < flow.keys; ++s)
                if (flow.isVisible(h, t, s)) weights.emplace(s, product(h, t, s));
            double sum = 0, largest = isNormalised ? kLeast : 0;
            for (const auto& [s, weight] : weights)
                if (isNormalised) largest = std::max(largest, weight.exponent);
            for (const auto& [s, weight] : weights)
                sum += flow.pattern.at(h, t, s) = weight.factor * std::exp(weight.exponent - largest);
            for (int64_t s = 0; s < flow.keys; ++s) {
                if (isNormalised) flow.pattern.at(h, t, s) = sum == 0 ? 0 : flow.pattern.at(h, t, s) / sum;
                for (int64_t d = 0; d < flow.width; ++d)
                    flow.z.at(h, t, d) += flow.pattern.at(h, t, s) * flow.v.at(h, s, d);
            }
        }
}

} // namespace attn
