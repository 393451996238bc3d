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

/// Sums over visible keys under a causal mask, in chunks. @param v with a last column of ones where sums are wanted
/// @param before the sum of b_s v_s^T of earlier steps, [BH,F,columns of v]; null for none
/// @return [B,H,T,columns of v]
Tensor runningSums(AttentionFlow& flow, Tensor a, Tensor b, Tensor v, Tensor before) {
    const int64_t T = flow.queries, F = a.shape()[3], columns = v.shape()[3], BH = flow.batch * flow.heads;
    const int64_t c = std::min(kChunk, T), chunks = (T + c - 1) / c;
    const auto chunked = [&](Tensor x, int64_t width) {
        return reshape(pad(reshape(x, {BH, T, width}), 1, 0, chunks * c - T), {BH, chunks, c, width});
    };
    const Tensor ac = chunked(a, F), bc = chunked(b, F), vc = chunked(v, columns);
    const Tensor within = batchedMatmul(times(product(ac, bc), lowerTriangle(flow, c)), vc); // [BH,chunks,c,columns]
    const Tensor sums = batchedMatmul(bc, vc, {.transposeA = true});                         // [BH,chunks,F,columns]
    Tensor earlier = cumulativeSum(sums, 1, {.exclusive = true});
    if (before) earlier = plus(earlier, reshape(before, {BH, 1, F, columns}));
    const Tensor all = plus(within, batchedMatmul(ac, earlier));
    return reshape(slice(reshape(all, {BH, chunks * c, columns}), 1, 0, T), {flow.batch, flow.heads, T, columns});
}

/// The same for a step, by a state that goes on: S_t = S_{t-1} + b_t v_t^T, and z_t = a_t S_t.
Tensor steppedSums(AttentionFlow& flow, Tensor a, Tensor b, Tensor v) {
    const int64_t T = flow.queries, F = a.shape()[3], columns = v.shape()[3], BH = flow.batch * flow.heads;
    const Tensor before = flow.state("sums", {BH, F, columns});
    const Tensor added =
        batchedMatmul(reshape(b, {BH, T, F}), reshape(v, {BH, T, columns}), {.transposeA = true}); // [BH,F,columns]
    const Tensor after = plus(before, added);
    flow.setState("sums", after);
    if (T > 1) return runningSums(flow, a, b, v, before);
    return reshape(batchedMatmul(reshape(a, {BH, 1, F}), after), {flow.batch, flow.heads, 1, columns});
}

/// @return [B,H,T,D]
Tensor featureMix(AttentionFlow& flow, Tensor a, Tensor b, Tensor v, bool isNormalised) {
    const int64_t B = flow.batch, H = flow.heads, S = v.shape()[2], D = v.shape()[3];
    const Tensor extended = isNormalised ? beside(v, fill(flow.graph, {B, H, S, 1}, 1)) : v;
    const Tensor sums = flow.isStep()     ? steppedSums(flow, a, b, extended)
                        : flow.isCausal() ? runningSums(flow, a, b, extended, {})
                                          : batchedMatmul(a, batchedMatmul(b, extended, {.transposeA = true}));
    return isNormalised ? share(slice(sums, 3, 0, D), slice(sums, 3, D, 1)) : sums;
}

/// Sets flow.pattern and flow.factors to the pattern that featureMix never forms.
void featurePattern(AttentionFlow& flow, Tensor a, Tensor b, bool isNormalised) {
    Tensor weights = product(a, b);
    if (flow.mask) weights = times(weights, flow.mask);
    flow.pattern = isNormalised ? share(weights, sumOver(weights, -1)) : weights;
    if (flow.isStep()) return;
    const bool isCausal = flow.isCausal();
    if (isNormalised) {
        const Tensor visible = isCausal ? cumulativeSum(b, 2) : sumOver(b, 2); // [B,H,T|1,F]
        a = share(a, sumOver(times(a, visible), -1));
    }
    flow.factors = PatternFactors{.queries = a, .keys = b, .isCausal = isCausal};
}

/// Shows the state after every token, and the output that a recurrence reads from it.
void showStates(AttentionFlow& flow, Tensor a, Tensor b, bool isNormalised) {
    const int64_t BH = flow.batch * flow.heads, S = flow.keys, F = b.shape()[3], D = flow.width;
    if (flow.queries != S || BH * S * F * D > kMostShown) return;
    const auto stateOf = [&](Tensor v) { // S_t = S_{t-1} + b_t v_t^T
        return cumulativeSum(times(reshape(b, {BH, S, F, 1}), reshape(v, {BH, S, 1, v.shape()[3]})), 1);
    };
    const auto readBy = [&](Tensor states) { return batchedMatmul(reshape(a, {BH, S, 1, F}), states); };
    const Tensor states = stateOf(flow.v), read = readBy(states); // [BH,S,F,D], [BH,S,1,D]
    const Tensor ones = fill(flow.graph, {flow.batch, flow.heads, S, 1}, 1);
    flow.show("features.states", states);
    flow.show("features.recurrent",
              reshape(isNormalised ? share(read, readBy(stateOf(ones))) : read, {flow.batch, flow.heads, S, D}));
}

} // namespace

void mixFeatures(AttentionFlow& flow, Tensor a, const std::function<Tensor(Tensor)>& ofKeys, bool isNormalised) {
    const Tensor b = ofKeys(flow.isStep() ? flow.newKeys : flow.k);
    if (flow.k) featurePattern(flow, a, flow.isStep() ? ofKeys(flow.k) : b, isNormalised);
    if (!flow.isStep() && flow.isCausal()) showStates(flow, a, b, isNormalised);
    if (flow.isStep() || flow.mayFuse) // otherwise z is pattern . v
        flow.z = featureMix(flow, a, b, flow.isStep() ? flow.newValues : flow.v, isNormalised);
}

Tensor visibleTotal(AttentionFlow& flow, const std::string& name, Tensor x) {
    if (!flow.isStep()) return flow.isCausal() ? cumulativeSum(x, 2) : sumOver(x, 2);
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
