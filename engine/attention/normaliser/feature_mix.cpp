#include "engine/attention/normaliser/feature_mix.h"
#include "engine/attention/terms.h"

namespace attn {

using namespace terms;

namespace {

constexpr int64_t kChunk = 64;
constexpr int64_t kMostShown = int64_t{1} << 22; ///< numbers of all states

/// [c,c], 1 where the column is not after the row.
Tensor lowerTriangle(AttentionFlow& flow, int64_t size) {
    std::vector<float> values(static_cast<size_t>(size * size), 0);
    for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j <= i; ++j) values[static_cast<size_t>(i * size + j)] = 1;
    return flow.constant("normaliser.triangle" + std::to_string(size), {size, size}, std::move(values));
}

constexpr double kLeast = -1e30; ///< the log weight of no key

/// What carries over from earlier tokens: the sum of b_s v_s^T, divided by exp(largest).
struct RunningState {
    Tensor sums;    ///< [BH,F,columns of v]
    Tensor largest; ///< [BH,1,1]: the largest log weight so far; null where keys have none
};

Tensor exponential(Tensor x) { return unary(x, Unary::Exponential); }

/// The largest of each row and those before it. @param x [BH,rows,1]
Tensor runningMaximum(AttentionFlow& flow, Tensor x) {
    const int64_t count = x.shape()[0], rows = x.shape()[1];
    for (int64_t reach = 1; reach < rows; reach *= 2) {
        const std::array earlier{fill(flow.graph, {count, reach, 1}, kLeast), slice(x, 1, 0, rows - reach)};
        x = binary(x, concatenate(earlier, 1), Binary::Maximum);
    }
    return x;
}

/// exp(logWeight_s - largest_t) where s is visible, else 0. @param logWeight [..,1,S]  @param largest [..,T,1]
/// @param mask [..,T,S]
Tensor relativeWeights(AttentionFlow& flow, Tensor logWeight, Tensor largest, Tensor mask) {
    const Tensor difference = minus(logWeight, largest);
    if (!mask) return exponential(difference);
    return times(exponential(select(mask, difference, fill(flow.graph, {1, 1}, 0))), mask);
}

/// Sums over visible keys under a causal mask, in chunks. @param v with a last column of ones where sums are wanted
/// @param state of earlier tokens; receives that after the last one  @return [B,H,T,columns of v]
Tensor runningSums(AttentionFlow& flow, Tensor a, const KeyFeatures& b, Tensor v, RunningState& state) {
    const int64_t T = flow.queries, F = a.shape()[3], columns = v.shape()[3], BH = flow.batch * flow.heads;
    const int64_t c = std::min(kChunk, T), chunks = (T + c - 1) / c, padding = chunks * c - T;
    const auto chunked = [&](Tensor x, int64_t width) {
        return reshape(pad(reshape(x, {BH, T, width}), 1, 0, padding), {BH, chunks, c, width});
    };
    const Tensor ac = chunked(a, F), vc = chunked(v, columns), triangle = lowerTriangle(flow, c);
    Tensor bc = chunked(b.features, F), pairs = product(ac, bc), largest, ends; // pairs [BH,chunks,c,c]
    if (b.logWeight) {
        Tensor weight = reshape(b.logWeight, {BH, T, 1});
        if (padding > 0) weight = concatenate(std::array{weight, fill(flow.graph, {BH, padding, 1}, kLeast)}, 1);
        largest = binary(runningMaximum(flow, stopGradient(weight)), state.largest, Binary::Maximum);
        largest = reshape(largest, {BH, chunks, c, 1});
        ends = slice(largest, 2, c - 1, 1); // [BH,chunks,1,1]
        pairs = times(pairs, relativeWeights(flow, reshape(weight, {BH, chunks, 1, c}), largest, triangle));
        bc = times(bc, exponential(minus(reshape(weight, {BH, chunks, c, 1}), ends)));
    } else {
        pairs = times(pairs, triangle);
    }
    const Tensor within = batchedMatmul(pairs, vc);            // [BH,chunks,c,columns]
    Tensor sums = batchedMatmul(bc, vc, {.transposeA = true}); // [BH,chunks,F,columns]
    sums = concatenate(std::array{reshape(state.sums, {BH, 1, F, columns}), sums}, 1);
    if (!b.logWeight) {
        sums = cumulativeSum(sums, 1);
    } else { // each sum is relative to its own largest weight: add neighbours, then pairs of neighbours, ...
        ends = concatenate(std::array{reshape(state.largest, {BH, 1, 1, 1}), ends}, 1);
        for (int64_t reach = 1; reach <= chunks; reach *= 2) {
            const int64_t count = chunks + 1 - reach;
            const Tensor factor = exponential(minus(slice(ends, 1, 0, count), slice(ends, 1, reach, count)));
            sums = plus(sums, pad(times(slice(sums, 1, 0, count), factor), 1, reach, 0));
        }
    }
    Tensor earlier = batchedMatmul(ac, slice(sums, 1, 0, chunks));
    if (b.logWeight) earlier = times(earlier, exponential(minus(slice(ends, 1, 0, chunks), largest)));
    state.sums = reshape(slice(sums, 1, chunks, 1), {BH, F, columns});
    if (b.logWeight) state.largest = reshape(slice(ends, 1, chunks, 1), {BH, 1, 1});
    const Tensor all = reshape(plus(within, earlier), {BH, chunks * c, columns});
    return reshape(slice(all, 1, 0, T), {flow.batch, flow.heads, T, columns});
}

/// Sums over visible keys under a causal mask. Those of a step go on from the state of earlier steps.
Tensor causalSums(AttentionFlow& flow, Tensor a, const KeyFeatures& b, Tensor v) {
    const int64_t BH = flow.batch * flow.heads;
    const Shape sums{BH, a.shape()[3], v.shape()[3]}, one{BH, 1, 1};
    RunningState state;
    if (flow.isStep()) {
        state.sums = flow.state("sums", sums);
        if (b.logWeight) state.largest = flow.state("largest", one, kLeast);
    } else {
        state.sums = fill(flow.graph, sums, 0);
        if (b.logWeight) state.largest = fill(flow.graph, one, kLeast);
    }
    if (flow.isStep() && flow.queries == 1 && !b.logWeight) { // S_t = S_{t-1} + b_t v_t^T, z_t = a_t S_t
        const auto rowOf = [&](Tensor x) { return reshape(x, {BH, 1, x.shape()[3]}); };
        const Tensor after = plus(state.sums, batchedMatmul(rowOf(b.features), rowOf(v), {.transposeA = true}));
        flow.setState("sums", after);
        return reshape(batchedMatmul(rowOf(a), after), {flow.batch, flow.heads, 1, v.shape()[3]});
    }
    const Tensor result = runningSums(flow, a, b, v, state);
    if (!flow.isStep()) return result;
    flow.setState("sums", state.sums);
    if (b.logWeight) flow.setState("largest", state.largest);
    return result;
}

/// The features with their weights, relative to the largest of all.
Tensor weighted(const KeyFeatures& b) {
    if (!b.logWeight) return b.features;
    const Tensor largest = stopGradient(reduce(b.logWeight, Reduction::Maximum, {2}));
    return times(b.features, exponential(minus(b.logWeight, largest)));
}

/// @return [B,H,T,D]
Tensor featureMix(AttentionFlow& flow, Tensor a, const KeyFeatures& b, Tensor v, bool isNormalised) {
    const int64_t B = flow.batch, H = flow.heads, S = v.shape()[2], D = v.shape()[3];
    const Tensor extended = isNormalised ? beside(v, fill(flow.graph, {B, H, S, 1}, 1)) : v;
    const Tensor sums = flow.isStep() || flow.isCausal()
                            ? causalSums(flow, a, b, extended)
                            : batchedMatmul(a, batchedMatmul(weighted(b), extended, {.transposeA = true}));
    return isNormalised ? share(slice(sums, 3, 0, D), slice(sums, 3, D, 1)) : sums;
}

/// Sets flow.pattern and flow.factors to the pattern that featureMix never forms.
void featurePattern(AttentionFlow& flow, Tensor a, const KeyFeatures& b, bool isNormalised) {
    Tensor weights = product(a, b.features);
    if (b.logWeight) {
        const Tensor row = permute(b.logWeight, {0, 1, 3, 2}); // [B,H,1,S]
        const Tensor seen = flow.mask ? select(flow.mask, row, fill(flow.graph, {1, 1}, kLeast)) : row;
        const Tensor largest = stopGradient(reduce(seen, Reduction::Maximum, {-1}));
        weights = times(weights, relativeWeights(flow, row, largest, flow.mask));
    } else if (flow.mask) {
        weights = times(weights, flow.mask);
    }
    flow.pattern = isNormalised ? share(weights, sumOver(weights, -1)) : weights;
    if (flow.isStep() || b.decays) return;
    const bool isCausal = flow.isCausal();
    const Tensor keys = weighted(b);
    if (isNormalised) {
        const Tensor visible = isCausal ? cumulativeSum(keys, 2) : sumOver(keys, 2); // [B,H,T|1,F]
        a = share(a, sumOver(times(a, visible), -1));
    }
    flow.factors = PatternFactors{.queries = a, .keys = keys, .isCausal = isCausal};
}

/// Shows the state after every token, and the output that a recurrence reads from it.
void showStates(AttentionFlow& flow, Tensor a, const KeyFeatures& b, bool isNormalised) {
    const int64_t BH = flow.batch * flow.heads, S = flow.keys, F = a.shape()[3], D = flow.width;
    if (flow.queries != S || BH * S * F * D > kMostShown) return;
    const auto stateOf = [&](Tensor v) { // S_t = S_{t-1} + b_t v_t^T
        const int64_t columns = v.shape()[3];
        const Tensor added = times(reshape(b.features, {BH, S, F, 1}), reshape(v, {BH, S, 1, columns}));
        if (!b.logWeight) return cumulativeSum(added, 1);
        const Tensor weight = reshape(b.logWeight, {BH, S, 1});
        const Tensor counts = relativeWeights(flow, permute(weight, {0, 2, 1}), runningMaximum(flow, weight),
                                              lowerTriangle(flow, S)); // [BH,S,S]
        return reshape(batchedMatmul(counts, reshape(added, {BH, S, F * columns})), {BH, S, F, columns});
    };
    const auto readBy = [&](Tensor states) { return batchedMatmul(reshape(a, {BH, S, 1, F}), states); };
    const Tensor states = stateOf(flow.v), read = readBy(states); // [BH,S,F,D], [BH,S,1,D]
    const Tensor ones = fill(flow.graph, {flow.batch, flow.heads, S, 1}, 1);
    flow.show("features.states", states);
    flow.show("features.recurrent",
              reshape(isNormalised ? share(read, readBy(stateOf(ones))) : read, {flow.batch, flow.heads, S, D}));
}

} // namespace

void mixFeatures(AttentionFlow& flow, Tensor a, const KeyFeaturesOf& ofKeys, bool isNormalised) {
    const KeyFeatures b = ofKeys(flow.isStep() ? flow.newKeys : flow.k, true);
    if (flow.k) featurePattern(flow, a, flow.isStep() ? ofKeys(flow.k, false) : b, isNormalised);
    if (!flow.isStep() && flow.isCausal()) showStates(flow, a, b, isNormalised);
    if (flow.isStep() || flow.mayFuse) // otherwise z is pattern . v
        flow.z = featureMix(flow, a, b, flow.isStep() ? flow.newValues : flow.v, isNormalised);
}

Tensor visibleTotal(AttentionFlow& flow, const std::string& name, Tensor x) {
    if (!flow.isStep() && !flow.isCausal()) return sumOver(x, 2);
    return runningTotal(flow, name, x);
}

Tensor runningTotal(AttentionFlow& flow, const std::string& name, Tensor x) {
    if (!flow.isStep()) return cumulativeSum(x, 2);
    const Shape one{flow.batch, flow.heads, 1, x.shape()[3]};
    const Tensor totals = plus(cumulativeSum(x, 2), flow.state(name, one));
    flow.setState(name, slice(totals, 2, flow.queries - 1, 1));
    return totals;
}

void referenceFeatureMix(ReferenceFlow& flow, const std::function<double(int64_t, int64_t, int64_t)>& product,
                         bool isNormalised) {
    flow.pattern = Dense({flow.heads, flow.queries, flow.keys});
    flow.z = Dense({flow.heads, flow.queries, flow.width});
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t) {
            double sum = 0;
            for (int64_t s = 0; s < flow.keys; ++s)
                if (flow.isVisible(h, t, s)) sum += flow.pattern.at(h, t, s) = product(h, t, s);
            for (int64_t s = 0; s < flow.keys; ++s) {
                if (isNormalised) flow.pattern.at(h, t, s) = sum == 0 ? 0 : flow.pattern.at(h, t, s) / sum;
                for (int64_t d = 0; d < flow.width; ++d)
                    flow.z.at(h, t, d) += flow.pattern.at(h, t, s) * flow.v.at(h, s, d);
            }
        }
}

} // namespace attn
