#include "engine/attention/normaliser/feature_mix.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/channel_mean.h"

#include <cmath>

// Normalisers that work on channels: Efficient Attention, XCiT, AFT.

namespace attn {
namespace {

using namespace terms;

/// Softmax over an axis other than the last. @param x [B,H,S,D]
Tensor softmaxOverPositions(Tensor x) { return permute(softmax(permute(x, {0, 1, 3, 2})), {0, 1, 3, 2}); }

std::vector<double> softmaxOf(std::vector<double> x) {
    double maximum = kMasked, sum = 0;
    for (double value : x) maximum = std::max(maximum, value);
    for (double& value : x) sum += value = std::exp(value - maximum);
    for (double& value : x) value /= sum;
    return x;
}

/// Softmax over the features of one query.
std::vector<double> queryFeatures(const ReferenceFlow& flow, int64_t h, int64_t t) {
    const double* row = &flow.q.data[static_cast<size_t>((h * flow.queries + t) * flow.width)];
    return softmaxOf({row, row + flow.width});
}

// Efficient Attention
// --------------------------------------------------------------------------------------------------

void buildEfficient(AttentionFlow& flow, PartValues) {
    const Tensor a = softmax(flow.q), b = softmaxOverPositions(flow.k);
    mixFeatures(
        flow, {.factors = a, .exponents = {}}, [b](Tensor, bool) { return Features{.factors = b, .exponents = {}}; },
        false);
    flow.show("efficient.queries", a);
    flow.show("efficient.keys", b);
}
void referenceEfficient(ReferenceFlow& flow, PartValues) {
    Dense b = flow.k;
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t d = 0; d < flow.width; ++d) {
            std::vector<double> column;
            for (int64_t s = 0; s < flow.keys; ++s) column.push_back(flow.k.at(h, s, d));
            column = softmaxOf(column);
            for (int64_t s = 0; s < flow.keys; ++s) b.at(h, s, d) = column[static_cast<size_t>(s)];
        }
    referenceFeatureMix(
        flow,
        [&](int64_t h, int64_t t, int64_t s) {
            const auto a = queryFeatures(flow, h, t);
            double sum = 0;
            for (int64_t d = 0; d < flow.width; ++d) sum += a[static_cast<size_t>(d)] * b.at(h, s, d);
            return Weight{.factor = sum};
        },
        false);
}

void buildRunningEfficient(AttentionFlow& flow, PartValues) {
    const Tensor keys = flow.isStep() ? flow.newKeys : flow.k;
    const VisibleTotal total = visibleTotal(flow, "total", keys, fill(flow.graph, keys.shape(), 1)); // [B,H,T|1,D]
    const Tensor logTotal = plus(unary(total.sums, Unary::Logarithm), total.largest);
    const Tensor logQueries = minus(flow.q, logSumExp(flow.q)); // the logarithm of the softmax
    mixFeatures(
        flow, {.factors = {}, .exponents = minus(logQueries, logTotal)},
        [](Tensor k, bool) { return Features{.factors = {}, .exponents = k}; }, false);
}
void referenceRunningEfficient(ReferenceFlow& flow, PartValues) {
    referenceFeatureMix(
        flow,
        [&](int64_t h, int64_t t, int64_t s) {
            const auto a = queryFeatures(flow, h, t);
            double sum = 0;
            for (int64_t d = 0; d < flow.width; ++d) {
                double total = 0; // relative to this key
                for (int64_t j = 0; j < flow.keys; ++j)
                    if (flow.isVisible(h, t, j)) total += std::exp(flow.k.at(h, j, d) - flow.k.at(h, s, d));
                sum += a[static_cast<size_t>(d)] / total;
            }
            return Weight{.factor = sum};
        },
        false);
}

// XCiT
// -----------------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kXcitParams{
    {{"temperature", "Temperature", "Divides the cosine of two channels; every head learns a factor that begins at 1",
      Param::Kind::Real, 0.01, 10, 0.01, 1}}};

void buildXcit(AttentionFlow& flow, PartValues values) {
    const auto channels = [](Tensor x) { return unitRows(permute(x, {0, 1, 3, 2})); }; // [B,H,D,T], each of length 1
    const Tensor factor = flow.parameter("normaliser.temperature", {flow.heads}, {InitialValue::Kind::One});
    const Tensor sharpness = affine(reshape(factor, {flow.heads, 1, 1}), 1 / values.real("temperature"), 0);
    const Tensor weights = softmax(times(product(channels(flow.q), channels(flow.k)), sharpness)); // [B,H,D,D]
    flow.show("xcit.channels", weights);
    flow.z = product(flow.v, weights); // z[t,d] = sum_e weights[d,e] v[t,e]
}
void referenceXcit(ReferenceFlow& flow, PartValues values) {
    const double temperature = values.real("temperature");
    flow.z = Dense({flow.heads, flow.queries, flow.width});
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t d = 0; d < flow.width; ++d) {
            std::vector<double> scores;
            for (int64_t e = 0; e < flow.width; ++e) {
                double dot = 0, qq = 1e-12, kk = 1e-12;
                for (int64_t t = 0; t < flow.queries; ++t) {
                    dot += flow.q.at(h, t, d) * flow.k.at(h, t, e);
                    qq += flow.q.at(h, t, d) * flow.q.at(h, t, d);
                    kk += flow.k.at(h, t, e) * flow.k.at(h, t, e);
                }
                scores.push_back(flow.parameters.at("normaliser.temperature").at(h) * dot /
                                 (std::sqrt(qq * kk) * temperature));
            }
            scores = softmaxOf(scores);
            for (int64_t t = 0; t < flow.queries; ++t)
                for (int64_t e = 0; e < flow.width; ++e)
                    flow.z.at(h, t, d) += scores[static_cast<size_t>(e)] * flow.v.at(h, t, e);
        }
}

// AFT
// ------------------------------------------------------------------------------------------------------------------

constexpr Param kWindow{"window",
                        "Window",
                        "A pair of positions less than this apart has a learned number; all others have 0",
                        Param::Kind::Integer,
                        1,
                        4096,
                        1,
                        8};
constexpr Param kFactors{"factors",
                         "Factors",
                         "0: each pair of positions has a number of its own. Else the number is the product of two "
                         "learned rows of this width, one of the query's position and one of the key's. The paper has "
                         "128",
                         Param::Kind::Integer,
                         0,
                         1024,
                         1,
                         0};
constexpr std::array kAftParams{kFactors};
constexpr std::array kLocalAftParams{kWindow, kFactors};
constexpr std::array kConvolvedAftParams{kWindow};

constexpr const char *kBias = "normaliser.w", *kQueryFactors = "normaliser.u", *kKeyFactors = "normaliser.v";
constexpr double kBiasDeviation = 0.5;

/// The thin tables u and v. @return of channelMean
ChannelMeanInputs factorsOf(AttentionFlow& flow, int64_t factors, int64_t window) {
    const InitialValue initial{InitialValue::Kind::Normal,
                               std::sqrt(kBiasDeviation / std::sqrt(static_cast<double>(factors)))};
    const auto table = [&](const char* name, int64_t rows) {
        return flow.parameter(name, {flow.isStep() ? flow.context : rows, factors}, initial);
    };
    const Tensor u = table(kQueryFactors, flow.queries), v = table(kKeyFactors, flow.keys);
    return {.queryFactors = u, .keyFactors = v, .window = window};
}
/// w = u v^T. @return [T,S]
Tensor productOfFactors(AttentionFlow& flow, int64_t factors) {
    const ChannelMeanInputs thin = factorsOf(flow, factors, 0);
    const Tensor u = thin.queryFactors, v = thin.keyFactors;
    return flow.isStep() ? product(take(u, flow.positions), slice(v, 0, 0, flow.keys)) : product(u, v);
}
double productOfFactors(const ReferenceFlow& flow, int64_t t, int64_t s) {
    const Dense &u = flow.parameters.at(kQueryFactors), &v = flow.parameters.at(kKeyFactors);
    double sum = 0;
    for (int64_t f = 0; f < u.extents[1]; ++f) sum += u.at(t, f) * v.at(s, f);
    return sum;
}

/// A mean of values whose weights are relative to an exponential: sums [..,D] of weights times values, and of weights.
struct ChannelMeans {
    Tensor values, weights, largest;
};

/// Where every query sees the same keys. @param bias [..,T,S]  @param seen 1 where a key counts, [..,1,S]; null: all
/// @param weight, weighed [..,S,D]: the exponential of keys relative to the largest of those that count, and its
/// product with the values  @param largest [..,1,D]
ChannelMeans meansOfAll(Tensor bias, Tensor seen, Tensor weight, Tensor weighed, Tensor largest) {
    const Tensor ofRows = largestOver(bias, -1); // [..,T,1]
    Tensor factor = unary(minus(bias, ofRows), Unary::Exponential);
    if (seen) factor = times(factor, seen);
    return {batchedMatmul(factor, weighed), batchedMatmul(factor, weight), plus(ofRows, largest)};
}

/// Under a causal mask: tokens of earlier chunks are seen by all queries of a chunk, so one largest key serves them
/// all; within a chunk each query has its own. @param bias [1|H,T,S]  @return z without the gate, [B,H,T,D]
Tensor causalMeans(AttentionFlow& flow, Tensor bias) {
    constexpr int64_t c = 64;
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, D = flow.width, own = bias.shape()[0];
    const int64_t n = (T + c - 1) / c, all = n * c;
    const int64_t outer = own == 1 ? B * H : B, blocks = own * n; // heads with numbers of their own are blocks
    const auto padded = [&](Tensor x) { return pad(reshape(x, {B * H, T, D}), 1, 0, all - T); };
    const auto chunked = [&](Tensor x) { return reshape(padded(x), {outer, blocks, c, D}); };
    const Tensor numbers = pad(pad(bias, 1, 0, all - T), 2, 0, all - T); // [own,all,all]

    std::vector<float> places, earlier, lower; // of the chunks on the diagonal; keys before each chunk; in a chunk
    for (int64_t h = 0; h < own; ++h)
        for (int64_t t = 0; t < all; ++t) places.push_back(static_cast<float>((h * all + t) * n + t / c));
    for (int64_t chunk = 0; chunk < n; ++chunk)
        for (int64_t s = 0; s < all; ++s) earlier.push_back(s < chunk * c ? 1.0f : 0.0f);
    for (int64_t t = 0; t < c; ++t)
        for (int64_t s = 0; s < c; ++s) lower.push_back(s <= t ? 1.0f : 0.0f);
    const Tensor seen = flow.constant("normaliser.earlier", {1, n, 1, all}, std::move(earlier));
    const Tensor ids = indices(flow.constant("normaliser.chunks", {own * all}, std::move(places)));
    const Tensor triangle = flow.constant("normaliser.lower", {c, c, 1}, std::move(lower));

    const Tensor keys = chunked(flow.k), ends = runningMaximum(reshape(largestOver(keys, 2), {B * H, n, D}), 1);
    const Tensor none = fill(flow.graph, {B * H, 1, D}, kMasked);
    const Tensor before = n == 1 ? none : concatenate(std::array{none, slice(ends, 1, 0, n - 1)}, 1); // [BH,n,D]
    const auto ofHeads = [&](Tensor x) { return reshape(padded(x), {B * H, 1, all, D}); };
    const Tensor relative = minus(ofHeads(flow.k), reshape(before, {B * H, n, 1, D})); // above 0: of keys not seen
    const Tensor weight = unary(binary(relative, fill(flow.graph, {1, 1}, 0), Binary::Minimum), Unary::Exponential);
    const Tensor seenByBlock = own == 1 ? seen : reshape(broadcast(seen, {own, n, 1, all}), {1, blocks, 1, all});
    const auto ofBlocks = [&](Tensor x) { return reshape(x, {outer, blocks, all, D}); };
    const ChannelMeans past =
        meansOfAll(reshape(numbers, {1, blocks, c, all}), seenByBlock, ofBlocks(weight),
                   ofBlocks(times(weight, ofHeads(flow.v))), reshape(before, {outer, blocks, 1, D}));

    const Tensor diagonal = reshape(take(reshape(numbers, {own * all * n, c}), ids), {1, blocks, c, c, 1});
    const Tensor cells = select(triangle, plus(reshape(keys, {outer, blocks, 1, c, D}), diagonal),
                                fill(flow.graph, {1, 1}, kMasked)); // [..,c,c,D]
    const Tensor largest = largestOver(cells, 3), weights = unary(minus(cells, largest), Unary::Exponential);
    const auto summed = [&](Tensor x) { return reshape(sumOver(x, 3), {outer, blocks, c, D}); };
    const Tensor near = reshape(largest, {outer, blocks, c, D});
    const Tensor common = binary(past.largest, near, Binary::Maximum);
    const Tensor ofPast = unary(minus(past.largest, common), Unary::Exponential),
                 ofNear = unary(minus(near, common), Unary::Exponential);
    const auto joined = [&](Tensor earlierSums, Tensor ownSums) {
        return plus(times(earlierSums, ofPast), times(ownSums, ofNear));
    };
    const Tensor values = reshape(chunked(flow.v), {outer, blocks, 1, c, D});
    const Tensor mean =
        over(joined(past.values, summed(times(weights, values))), joined(past.weights, summed(weights)));
    return reshape(slice(reshape(mean, {B * H, all, D}), 1, 0, T), {B, H, T, D});
}

/// sigma(q_t) times the mean of the values, weighed by e^(k_s + w_ts), relative to the largest exponent that a query
/// sees. @param bias w, [T,S] or [H,T,S]
/// @param numbers what w is made of, which the kernel reads without forming w, where the mask is a band
void mixByBias(AttentionFlow& flow, Tensor bias, ChannelMeanInputs numbers) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, S = flow.keys, D = flow.width;
    bias = reshape(bias, {bias.shape().elements() / (T * S), T, S});
    // One pattern for each channel. Without a full or a causal mask, it is formed.
    const auto byChannel = [&](Tensor x) { return reshape(permute(x, {0, 1, 3, 2}), {B, H, D, 1, S}); };
    Tensor cells = plus(byChannel(flow.k), reshape(bias, {bias.shape()[0], 1, T, S})); // [B,H,D,T,S]
    if (flow.mask)
        cells = select(reshape(flow.mask, {flow.mask.shape()[0], 1, T, S}), cells, fill(flow.graph, {1, 1}, kMasked));
    const Tensor patterns = softmax(cells);
    Tensor mean;
    if (!flow.mask) {
        const Tensor largest = largestOver(flow.k, 2), weight = unary(minus(flow.k, largest), Unary::Exponential);
        const ChannelMeans means = meansOfAll(bias, {}, weight, times(weight, flow.v), largest);
        mean = over(means.values, means.weights);
    } else if (!flow.isStep() && T == S && flow.isCausal()) {
        mean = causalMeans(flow, bias);
    } else {
        const Tensor values = reshape(byChannel(flow.v), {B, H, D, S, 1});
        mean = permute(reshape(batchedMatmul(patterns, values), {B, H, D, T}), {0, 1, 3, 2});
    }
    flow.z = times(unary(flow.q, Unary::Sigmoid), mean);
    if (const auto band = flow.band(); band && flow.mayFuse && !flow.isStep()) {
        numbers.q = flow.q;
        numbers.k = flow.k;
        numbers.v = flow.v;
        numbers.behind = band->behind;
        numbers.ahead = band->ahead;
        flow.z = channelMean(numbers, T);
    }
    flow.show("aft.channels", reshape(patterns, {B * H, D, T, S}));
}
/// The column of a table by distance for each cell, -1 outside of the window. @return I32 [T S]
Tensor columnsOfWindow(AttentionFlow& flow, int64_t window) {
    return indices(flow.byCell("normaliser.columns", [window](int64_t t, int64_t s) {
        return static_cast<double>(std::abs(s - t) < window ? s - t + window - 1 : -1);
    }));
}

void buildAft(AttentionFlow& flow, PartValues values) {
    if (const int64_t factors = values.integer("factors"); factors > 0) {
        const Tensor bias = productOfFactors(flow, factors);
        return mixByBias(flow, bias, factorsOf(flow, factors, 0));
    }
    const Tensor w = flow.parameterByCell(kBias, {InitialValue::Kind::Normal, kBiasDeviation});
    mixByBias(flow, w, {.table = reshape(w, {1, flow.queries, flow.keys})});
}
void buildLocalAft(AttentionFlow& flow, PartValues values) {
    const int64_t window = values.integer("window"), factors = values.integer("factors");
    if (factors > 0) {
        const Tensor isNear = flow.byCell(
            "normaliser.near", [window](int64_t t, int64_t s) { return std::abs(s - t) < window ? 1.0 : 0.0; });
        const Tensor bias = times(productOfFactors(flow, factors), isNear);
        return mixByBias(flow, bias, factorsOf(flow, factors, window));
    }
    const int64_t T = flow.queries, S = flow.keys, columns = 2 * window - 1;
    Tensor w = flow.parameter(kBias, {flow.isStep() ? flow.context : T, columns},
                              {InitialValue::Kind::Normal, kBiasDeviation});
    if (flow.isStep()) w = take(w, flow.positions);
    const Tensor cells =
        take(reshape(w, {T, columns, 1}), reshape(columnsOfWindow(flow, window), {T, S})); // zeros outside
    mixByBias(flow, reshape(cells, {T, S}), {.table = reshape(w, {1, T, columns}), .window = window});
}
void buildConvolvedAft(AttentionFlow& flow, PartValues values) {
    const int64_t window = values.integer("window"), H = flow.heads, T = flow.queries, S = flow.keys,
                  columns = 2 * window - 1;
    const Tensor w = flow.parameter(kBias, {H, columns}, {InitialValue::Kind::Normal, kBiasDeviation});
    const Tensor ids = broadcast(reshape(columnsOfWindow(flow, window), {1, T * S}), {H, T * S});
    mixByBias(flow, reshape(take(reshape(w, {H, columns, 1}), ids), {H, T, S}),
              {.table = reshape(w, {H, 1, columns}), .window = window});
}
void buildSimpleAft(AttentionFlow& flow, PartValues) {
    const Tensor k = flow.isStep() ? flow.newKeys : flow.k, v = flow.isStep() ? flow.newValues : flow.v;
    const Tensor ones = fill(flow.graph, v.shape(), 1);
    const Tensor total = visibleTotal(flow, "total", beside(k, k), beside(v, ones)).sums;
    const Tensor mean = over(slice(total, 3, 0, flow.width), slice(total, 3, flow.width, flow.width));
    flow.z = times(unary(flow.q, Unary::Sigmoid), mean);
}
/// @param bias of a head, a query and a key
void referenceAftWith(ReferenceFlow& flow, const std::function<double(int64_t, int64_t, int64_t)>& bias) {
    flow.z = Dense({flow.heads, flow.queries, flow.width});
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t d = 0; d < flow.width; ++d) {
                double top = 0, bottom = 0, largest = kMasked;
                for (int64_t s = 0; s < flow.keys; ++s)
                    if (flow.isVisible(h, t, s)) largest = std::max(largest, flow.k.at(h, s, d) + bias(h, t, s));
                for (int64_t s = 0; s < flow.keys; ++s) {
                    if (!flow.isVisible(h, t, s)) continue;
                    const double weight = std::exp(flow.k.at(h, s, d) + bias(h, t, s) - largest);
                    top += weight * flow.v.at(h, s, d);
                    bottom += weight;
                }
                flow.z.at(h, t, d) = (bottom == 0 ? 0 : top / bottom) / (1 + std::exp(-flow.q.at(h, t, d)));
            }
}
void referenceAft(ReferenceFlow& flow, PartValues values) {
    if (values.integer("factors") > 0)
        return referenceAftWith(flow, [&](int64_t, int64_t t, int64_t s) { return productOfFactors(flow, t, s); });
    const Dense& w = flow.parameters.at(kBias);
    referenceAftWith(flow, [&](int64_t, int64_t t, int64_t s) { return w.at(t, s); });
}
template <bool kByHead> void referenceWindowAft(ReferenceFlow& flow, PartValues values) {
    const int64_t window = values.integer("window");
    if (!kByHead && values.integer("factors") > 0)
        return referenceAftWith(flow, [&](int64_t, int64_t t, int64_t s) {
            return std::abs(s - t) < window ? productOfFactors(flow, t, s) : 0.0;
        });
    const Dense& w = flow.parameters.at(kBias);
    referenceAftWith(flow, [&](int64_t h, int64_t t, int64_t s) {
        return std::abs(s - t) < window ? w.at(kByHead ? h : t, s - t + window - 1) : 0.0;
    });
}
void referenceSimpleAft(ReferenceFlow& flow, PartValues) {
    referenceAftWith(flow, [](int64_t, int64_t, int64_t) { return 0.0; });
}

} // namespace

const Part kEfficientNormaliser{
    .id = "efficient",
    .slot = Slot::Normaliser,
    .title = "Efficient Attention",
    .idea = "Applies a softmax over the features of each query and, separately, over the positions of each feature of "
            "the keys. The values are gathered into as many summaries as there are features, and every query mixes "
            "these summaries.",
    .formula = "z = rho_q(Q) (rho_k(K)^T V)",
    .source = {"Shen et al.", 2021, "Efficient Attention: Attention with Linear Complexities", "section 3.2",
               "arXiv:1812.01243"},
    .time = "O(T D^2)",
    .memory = "O(T D + D^2)",
    .hooks = {{Stage::Normalise, buildEfficient, referenceEfficient}},
    .mix = {.masks = MaskSupport::FullOnly,
            .causalForm = &kRunningEfficientNormaliser,
            .usesScores = false,
            .pairs = noPairs}};

const Part kRunningEfficientNormaliser{
    .id = "efficient_running",
    .slot = Slot::Normaliser,
    .title = "Efficient Attention, running",
    .idea = "Efficient Attention whose softmax over positions uses running sums: each position divides by the sum "
            "over the keys that it may see. Under a full mask it equals the original.",
    .formula = "z_i = sum_f rho_q(q_i)_f (sum_{j<=i} e^(k_jf) v_j) / (sum_{j<=i} e^(k_jf))",
    .source = {"Shen et al.", 2021, "Efficient Attention: Attention with Linear Complexities",
               "section 3.2, with running sums (ours)", "arXiv:1812.01243"},
    .time = "O(T D^2)",
    .memory = "O(T D + D^2)",
    .hooks = {{Stage::Normalise, buildRunningEfficient, referenceRunningEfficient}},
    .mix = {.masks = MaskSupport::FullOrCausal, .usesScores = false, .keepsState = true, .pairs = noPairs}};

const Part kXcitNormaliser{
    .id = "xcit",
    .slot = Slot::Normaliser,
    .title = "Cross-covariance (XCiT)",
    .idea = "Channels attend to channels, by their similarity over all tokens. Tokens do not attend to tokens, so "
            "there is a pattern of channels and none of tokens.",
    .formula = "z = V softmax(g_h K'^T Q' / tau), columns of K' and Q' of length 1, g_h learned as in the paper's code",
    .source = {"El-Nouby et al.", 2021, "XCiT: Cross-Covariance Image Transformers",
               "section 3.2, without local patch interaction", "arXiv:2106.09681"},
    .params = kXcitParams,
    .time = "O(T D^2)",
    .memory = "O(D^2)",
    .hooks = {{Stage::Normalise, buildXcit, referenceXcit}},
    .mix = {.masks = MaskSupport::FullOnly, .usesScores = false, .ignoresZeroRows = true, .pairs = noPairs},
    .needsEqualLengths = true};

const Part kAftNormaliser{
    .id = "aft",
    .slot = Slot::Normaliser,
    .title = "Attention free (AFT-full)",
    .idea = "Each channel has its own weights: the exponential of the key plus a learned number for the pair of "
            "positions. The query only gates the result. As in the paper, these numbers can be products of two thin "
            "tables.",
    .formula =
        "z_i = sigma(q_i) * sum_j e^(k_j + w_ij) v_j / sum_j e^(k_j + w_ij), per channel; w_ij free, or u_i . v_j",
    .source = {"Zhai et al.", 2021, "An Attention Free Transformer", "section 3.1", "arXiv:2105.14103"},
    .params = kAftParams,
    .time = "O(T S D)",
    .memory = "O(T D) and O(T S) parameters, or O((T + S) factors); O(T S) in training; O(T S D) under masks that are "
              "no band",
    .hooks = {{Stage::Normalise, buildAft, referenceAft}},
    .mix = {.usesScores = false}};

const Part kLocalAftNormaliser{
    .id = "aft_local",
    .slot = Slot::Normaliser,
    .title = "Attention free, local (AFT-local)",
    .idea =
        "AFT whose learned numbers end at a window. Unlike in local attention, every token still reaches every "
        "other one, by its key alone: far keys are summed in blocks. As in the paper, the numbers in the window can "
        "be products of two thin tables.",
    .formula = "z_i = sigma(q_i) * sum_j e^(k_j + w_ij) v_j / sum_j e^(k_j + w_ij), w_ij free, or u_i . v_j; 0 where "
               "|i - j| >= "
               "window",
    .source = {"Zhai et al.", 2021, "An Attention Free Transformer", "section 3.2", "arXiv:2105.14103"},
    .params = kLocalAftParams,
    .time = "O(T window D)",
    .memory = "O(T D) and O(T window) parameters, or O((T + S) factors); O(T S) in training; O(T S D) under masks that "
              "are no band",
    .hooks = {{Stage::Normalise, buildLocalAft, referenceWindowAft<false>}},
    .mix = {.usesScores = false}};

const Part kConvolvedAftNormaliser{
    .id = "aft_conv",
    .slot = Slot::Normaliser,
    .title = "Attention free, convolved (AFT-conv)",
    .idea = "AFT-local whose numbers depend on the distance alone: each head has one filter, as in a convolution that "
            "also reaches all other tokens, whose keys are summed in blocks. The filter is learned as it is, not "
            "normalised as in the paper.",
    .formula = "z_i = sigma(q_i) * sum_j e^(k_j + w_{j-i}) v_j / sum_j e^(k_j + w_{j-i}), w_d = 0 for |d| >= window",
    .source = {"Zhai et al.", 2021, "An Attention Free Transformer", "section 3.2, equation 4", "arXiv:2105.14103"},
    .params = kConvolvedAftParams,
    .time = "O(T window D)",
    .memory = "O(T D) and O(H window) parameters; O(H T S) in training; O(T S D) under masks that are no band",
    .hooks = {{Stage::Normalise, buildConvolvedAft, referenceWindowAft<true>}},
    .mix = {.usesScores = false}};

const Part kSimpleAftNormaliser{
    .id = "aft_simple",
    .slot = Slot::Normaliser,
    .title = "Attention free, simple (AFT-simple)",
    .idea = "AFT without the position bias: one weighted mean of the values for each channel, gated by the query. It "
            "is linear in the length, and a running mean under a causal mask.",
    .formula = "z_i = sigma(q_i) * sum_j e^(k_j) v_j / sum_j e^(k_j), per channel",
    .source = {"Zhai et al.", 2021, "An Attention Free Transformer", "section 3.2", "arXiv:2105.14103"},
    .time = "O(T D)",
    .memory = "O(T D)",
    .hooks = {{Stage::Normalise, buildSimpleAft, referenceSimpleAft}},
    .mix = {.masks = MaskSupport::FullOrCausal, .usesScores = false, .keepsState = true, .pairs = noPairs}};

} // namespace attn
