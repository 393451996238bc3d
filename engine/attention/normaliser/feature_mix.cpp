#include "engine/attention/normaliser/feature_mix.h"
#include "engine/attention/terms.h"

namespace attn {

using namespace terms;

namespace {

constexpr int64_t kChunk = 64;

/// [c,c], 1 where the column is not after the row.
Tensor lowerTriangle(AttentionFlow& flow, int64_t size) {
    std::vector<float> values(static_cast<size_t>(size * size), 0);
    for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j <= i; ++j) values[static_cast<size_t>(i * size + j)] = 1;
    return flow.constant("normaliser.triangle" + std::to_string(size), {size, size}, std::move(values));
}

/// @param v with a last column of ones where sums are wanted  @return [B,H,T,columns of v]
Tensor runningSums(AttentionFlow& flow, Tensor a, Tensor b, Tensor v) {
    const int64_t T = flow.queries, F = a.shape()[3], columns = v.shape()[3], BH = flow.batch * flow.heads;
    const int64_t c = std::min(kChunk, T), chunks = (T + c - 1) / c;
    const auto chunked = [&](Tensor x, int64_t width) {
        return reshape(pad(reshape(x, {BH, T, width}), 1, 0, chunks * c - T), {BH, chunks, c, width});
    };
    const Tensor ac = chunked(a, F), bc = chunked(b, F), vc = chunked(v, columns);
    const Tensor within = batchedMatmul(times(product(ac, bc), lowerTriangle(flow, c)), vc); // [BH,chunks,c,columns]
    const Tensor sums = batchedMatmul(bc, vc, {.transposeA = true});                         // [BH,chunks,F,columns]
    const Tensor before = cumulativeSum(sums, 1, {.exclusive = true});
    const Tensor all = plus(within, batchedMatmul(ac, before));
    return reshape(slice(reshape(all, {BH, chunks * c, columns}), 1, 0, T), {flow.batch, flow.heads, T, columns});
}

} // namespace

Tensor featureMix(AttentionFlow& flow, Tensor a, Tensor b, Tensor v, bool isNormalised) {
    const int64_t B = flow.batch, H = flow.heads, S = flow.keys, D = v.shape()[3];
    const Tensor extended = isNormalised ? beside(v, fill(flow.graph, {B, H, S, 1}, 1)) : v;
    const Tensor sums = flow.isCausal() ? runningSums(flow, a, b, extended)
                                        : batchedMatmul(a, batchedMatmul(b, extended, {.transposeA = true}));
    return isNormalised ? share(slice(sums, 3, 0, D), slice(sums, 3, D, 1)) : sums;
}

void featurePattern(AttentionFlow& flow, Tensor a, Tensor b, bool isNormalised) {
    Tensor weights = product(a, b);
    if (flow.mask) weights = times(weights, flow.mask);
    flow.pattern = isNormalised ? share(weights, sumOver(weights, -1)) : weights;
    const bool isCausal = flow.isCausal();
    if (isNormalised) {
        const Tensor visible = isCausal ? cumulativeSum(b, 2) : sumOver(b, 2); // [B,H,T|1,F]
        a = share(a, sumOver(times(a, visible), -1));
    }
    flow.factors = PatternFactors{.queries = a, .keys = b, .isCausal = isCausal};
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
