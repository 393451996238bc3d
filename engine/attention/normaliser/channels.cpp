#include "engine/attention/normaliser/feature_mix.h"
#include "engine/attention/normaliser/normalisers.h"
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
        flow, a, [b](Tensor, bool) { return b; }, false);
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
            return sum;
        },
        false);
}

void buildRunningEfficient(AttentionFlow& flow, PartValues) {
    const auto ofKeys = [](Tensor k) { return unary(k, Unary::Exponential); };
    const Tensor total = visibleTotal(flow, "total", ofKeys(flow.isStep() ? flow.newKeys : flow.k)); // [B,H,T|1,D]
    mixFeatures(
        flow, over(softmax(flow.q), total), [&](Tensor k, bool) { return ofKeys(k); }, false);
}
void referenceRunningEfficient(ReferenceFlow& flow, PartValues) {
    referenceFeatureMix(
        flow,
        [&](int64_t h, int64_t t, int64_t s) {
            const auto a = queryFeatures(flow, h, t);
            double sum = 0;
            for (int64_t d = 0; d < flow.width; ++d) {
                double total = 0;
                for (int64_t j = 0; j < flow.keys; ++j)
                    if (flow.isVisible(h, t, j)) total += std::exp(flow.k.at(h, j, d));
                sum += a[static_cast<size_t>(d)] * std::exp(flow.k.at(h, s, d)) / total;
            }
            return sum;
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

/// sigma(q_t) times the mean of the values, weighed by e^(k_s + w_ts). @param bias w, [T,S] or [H,T,S]
/// @param numbers what w is made of, which the kernel reads without forming w, where the mask is a band
void mixByBias(AttentionFlow& flow, Tensor bias, ChannelMeanInputs numbers) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, S = flow.keys, D = flow.width;
    Tensor factor = unary(bias, Unary::Exponential);
    if (flow.mask) factor = times(factor, flow.mask);
    const Tensor weight = unary(flow.k, Unary::Exponential); // [B,H,S,D]
    const Tensor mixed = share(batchedMatmul(factor, times(weight, flow.v)), batchedMatmul(factor, weight));
    flow.z = times(unary(flow.q, Unary::Sigmoid), mixed);
    if (const auto band = flow.band(); band && flow.mayFuse && !flow.isStep()) {
        numbers.q = flow.q;
        numbers.k = flow.k;
        numbers.v = flow.v;
        numbers.behind = band->behind;
        numbers.ahead = band->ahead;
        flow.z = channelMean(numbers, T);
    }
    const Tensor ofHeads = reshape(factor, {factor.shape().elements() / (T * S), 1, T, S});
    const Tensor perChannel = times(reshape(permute(weight, {0, 1, 3, 2}), {B, H, D, 1, S}), ofHeads); // [B,H,D,T,S]
    flow.show("aft.channels", reshape(share(perChannel, sumOver(perChannel, -1)), {B * H, D, T, S}));
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
    const Tensor weight = unary(flow.isStep() ? flow.newKeys : flow.k, Unary::Exponential);
    const Tensor weighed = times(weight, flow.isStep() ? flow.newValues : flow.v);
    const Tensor mean = share(visibleTotal(flow, "weighed", weighed), visibleTotal(flow, "weights", weight));
    flow.z = times(unary(flow.q, Unary::Sigmoid), mean);
}
/// @param bias of a head, a query and a key
void referenceAftWith(ReferenceFlow& flow, const std::function<double(int64_t, int64_t, int64_t)>& bias) {
    flow.z = Dense({flow.heads, flow.queries, flow.width});
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t d = 0; d < flow.width; ++d) {
                double top = 0, bottom = 0;
                for (int64_t s = 0; s < flow.keys; ++s) {
                    if (!flow.isVisible(h, t, s)) continue;
                    const double weight = std::exp(flow.k.at(h, s, d) + bias(h, t, s));
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
    .masks = MaskSupport::FullOnly,
    .causalForm = &kRunningEfficientNormaliser,
    .usesScores = false};

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
    .masks = MaskSupport::FullOrCausal,
    .usesScores = false,
    .keepsState = true};

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
    .masks = MaskSupport::FullOnly,
    .usesScores = false,
    .ignoresZeroRows = true,
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
    .memory = "O(T D) and O(T S) parameters, or O((T + S) factors); O(T S) in training",
    .hooks = {{Stage::Normalise, buildAft, referenceAft}},
    .usesScores = false};

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
    .time = "O(T window D), and O(T S D / 64) for sums of far keys",
    .memory = "O(T D) and O(T window) parameters, or O((T + S) factors); O(T S) in training",
    .hooks = {{Stage::Normalise, buildLocalAft, referenceWindowAft<false>}},
    .usesScores = false};

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
    .time = "O(T window D), and O(T S D / 64) for sums of far keys",
    .memory = "O(T D) and O(H window) parameters; O(H T S) in training",
    .hooks = {{Stage::Normalise, buildConvolvedAft, referenceWindowAft<true>}},
    .usesScores = false};

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
    .masks = MaskSupport::FullOrCausal,
    .usesScores = false,
    .keepsState = true};

} // namespace attn
