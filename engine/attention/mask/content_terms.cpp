#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/gradient.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {

using namespace terms;

void hideUnless(AttentionFlow& flow, Tensor isVisible) {
    flow.scores = select(isVisible, flow.scores, fill(flow.graph, {1, 1}, kMasked));
}

// Adaptive span ------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 3> kSpanParams{
    {{"span", "Longest span", "The longest span that a head can learn, in tokens", Param::Kind::Integer, 1, 8192, 1,
      32},
     {"ramp", "Ramp", "Tokens over which the mask falls from 1 to 0", Param::Kind::Real, 1, 1024, 1, 8},
     {"penalty", "Penalty", "Factor of the mean span (as a share of the longest) that is added to the loss",
      Param::Kind::Real, 0, 1, 0.001, 0.002}}};

/// z = span * clamp(parameter + 1/2, 0, 1): half of the longest span to begin with. @return [H,1], as a share
Tensor spanShare(AttentionFlow& flow) {
    return clamp(affine(flow.parameter("mask.span", {flow.heads, 1}, {InitialValue::Kind::Zero}), 1, 0.5), 0, 1);
}
/// m_z of every distance of key from query. @return [H, T + S - 1]
Tensor spanFactor(AttentionFlow& flow, PartValues values) {
    const Tensor distance = reshape(
        flow.byDistance("mask.distance", 1, [](int64_t d, int64_t) { return static_cast<double>(std::abs(d)); }),
        {1, flow.queries + flow.keys - 1});
    const double span = values.real("span"), ramp = values.real("ramp");
    return clamp(affine(minus(affine(spanShare(flow), span, ramp), distance), 1 / ramp, 0), 0, 1);
}
/// The term that it adds to the scores that stay visible.
Tensor logarithmOf(Tensor factor) { return unary(clamp(factor, 1e-20, 1), Unary::Logarithm); }

/// Weighs the cells, and adds the mean span to the loss.
/// @param share z / S: [1,H,1], or [B,H,T] for each query  @param factor m_z, broadcasts to [B,H,T,S]
void applySpans(AttentionFlow& flow, PartValues values, Tensor share, Tensor factor) {
    flow.show("spans", affine(broadcast(share, {flow.batch, flow.heads, flow.queries}), values.real("span"), 0));
    flow.show("mask.factor", factor);
    const Tensor mean = reduce(reshape(share, {share.shape().elements(), 1}), Reduction::Mean, {0});
    flow.penalties.push_back(affine(reshape(mean, {1}), values.real("penalty"), 0));
    flow.addToScores("mask.factor", logarithmOf(factor));
    hideUnless(flow, factor);
}

void buildAdaptiveSpan(AttentionFlow& flow, PartValues values) {
    const int64_t H = flow.heads, T = flow.queries, count = T + flow.keys - 1;
    const Tensor factor = spanFactor(flow, values);
    const Tensor byCell = diagonals(broadcast(reshape(factor, {H, 1, count}), {H, T, count}), flow.keys); // [H,T,S]
    applySpans(flow, values, reshape(spanShare(flow), {1, H, 1}), byCell);
}
void fuseAdaptiveSpan(AttentionFlow& flow, PartValues values, FusedScores& fused) {
    const Tensor factor = spanFactor(flow, values);
    const Tensor bias = select(factor, logarithmOf(factor), fill(flow.graph, {1, 1}, kMasked));
    // A hidden distance keeps kMasked, whatever else is added to its score.
    fused.learned = fused.learned ? select(factor, plus(fused.learned, bias), bias) : bias;
    fused.reach = static_cast<int64_t>(std::ceil(values.real("span") + values.real("ramp")));
}
/// @param share z / S of a head's query
template <class Share> void weighCells(ReferenceFlow& flow, PartValues values, Share&& share) {
    const double span = values.real("span"), ramp = values.real("ramp");
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t) {
            const double z = span * share(h, t);
            for (int64_t s = 0; s < flow.keys; ++s) {
                const double factor = std::clamp((ramp + z - static_cast<double>(std::abs(t - s))) / ramp, 0.0, 1.0);
                double& score = flow.scores.at(h, t, s);
                score = factor == 0 || score <= kMasked ? kMasked : score + std::log(factor);
            }
        }
}
void referenceAdaptiveSpan(ReferenceFlow& flow, PartValues values) {
    const Dense& learned = flow.parameters.at("mask.span");
    weighCells(flow, values, [&](int64_t h, int64_t) { return std::clamp(learned.at(h, 0) + 0.5, 0.0, 1.0); });
}

// Dynamic span -------------------------------------------------------------------------------------------------------

void buildDynamicSpan(AttentionFlow& flow, PartValues values) {
    const double span = values.real("span"), ramp = values.real("ramp");
    const Tensor rows = flow.hasInputs ? flow.stream : Tensor();
    const Tensor offset = flow.parameter("mask.offset", {flow.heads, 1}, {InitialValue::Kind::Zero});
    const Tensor share = unary(plus(numberByHead(flow, "mask.v", rows, flow.q), offset), Unary::Sigmoid); // [B,H,T]
    const Tensor distance = flow.byCell(
        "mask.distances", [](int64_t t, int64_t s) { return static_cast<double>(std::abs(t - s)); }); // [T,S]
    const Tensor reach = affine(reshape(share, {flow.batch, flow.heads, flow.queries, 1}), span, ramp);
    applySpans(flow, values, share, clamp(affine(minus(reach, distance), 1 / ramp, 0), 0, 1));
}
void referenceDynamicSpan(ReferenceFlow& flow, PartValues values) {
    const Dense &v = flow.parameters.at("mask.v"), &offset = flow.parameters.at("mask.offset");
    weighCells(flow, values, [&](int64_t h, int64_t t) {
        double sum = offset.at(h, 0);
        for (int64_t d = 0; d < flow.width; ++d) sum += v.at(h, 0, d) * flow.q.at(h, t, d);
        return 1 / (1 + std::exp(-sum));
    });
}

// Predicted window ---------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kLocalPParams{{{"half_width", "Half width",
                                               "D: the keys on each side of the predicted position that a query sees. "
                                               "The weights fall off by a bell curve whose "
                                               "standard deviation is D / 2",
                                               Param::Kind::Integer, 1, 8192, 1, 10}}};

/// S_t sigmoid(v . tanh(W x_t)), where S_t counts the keys up to the last that the query sees. [B,H,T,1]
Tensor predictedPosition(AttentionFlow& flow, Tensor keys) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, D = flow.width;
    const Tensor rows = flow.hasInputs ? flow.stream : Tensor();
    const int64_t inputs = rows ? rows.shape()[-1] : D;
    const auto normal = [](int64_t fanIn) {
        return InitialValue{InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(fanIn))};
    };
    const Tensor w = flow.parameter("mask.W_p", {H, D, inputs}, normal(inputs)),
                 v = flow.parameter("mask.v_p", {H, 1, D}, normal(D));
    Tensor hidden = rows ? matmul(reshape(rows, {B * T, inputs}), reshape(w, {H * D, inputs})) : product(flow.q, w);
    if (rows) hidden = permute(reshape(hidden, {B, T, H, D}), {0, 2, 1, 3});
    const Tensor share = unary(product(unary(hidden, Unary::Tanh), v), Unary::Sigmoid); // [B,H,T,1]
    const Tensor isSeen = binary(fill(flow.graph, {1, 1}, kMasked), flow.scores, Binary::Less);
    const Tensor count = reduce(times(affine(keys, 1, 1), isSeen), Reduction::Maximum, {-1});
    return times(share, stopGradient(count));
}

void buildLocalP(AttentionFlow& flow, PartValues values) {
    const double reach = values.real("half_width");
    const Tensor keys = flow.byCell("mask.key_positions", [](int64_t, int64_t s) { return static_cast<double>(s); });
    const Tensor centre = predictedPosition(flow, keys), distance = minus(keys, centre); // [B,H,T,S]
    flow.show("predicted_position", reshape(centre, {flow.batch, flow.heads, flow.queries}));
    const Tensor square = unary(distance, Unary::Square);
    const Tensor isBeyond = binary(fill(flow.graph, {1, 1}, reach * reach), square, Binary::Less);
    flow.scores = select(isBeyond, fill(flow.graph, {1, 1}, kMasked), flow.scores);
    const Tensor factor = unary(affine(square, -2 / (reach * reach), 0), Unary::Exponential);
    flow.weightFactor = flow.weightFactor ? times(flow.weightFactor, factor) : factor;
}
void weighByLocalP(AttentionFlow& flow, PartValues) {
    if (const Tensor factor = std::exchange(flow.weightFactor, {})) flow.pattern = times(flow.pattern, factor);
}
void referenceLocalP(ReferenceFlow& flow, PartValues values) {
    const Dense &w = flow.parameters.at("mask.W_p"), &v = flow.parameters.at("mask.v_p");
    const double reach = values.real("half_width");
    if (flow.weightFactor.data.empty()) flow.weightFactor = Dense({flow.heads, flow.queries, flow.keys}, 1);
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t) {
            double sum = 0, count = 0;
            for (int64_t unit = 0; unit < flow.width; ++unit) {
                double inner = 0;
                for (int64_t d = 0; d < flow.width; ++d) inner += w.at(h, unit, d) * flow.q.at(h, t, d);
                sum += v.at(h, 0, unit) * std::tanh(inner);
            }
            for (int64_t s = 0; s < flow.keys; ++s)
                if (flow.scores.at(h, t, s) > kMasked) count = static_cast<double>(s + 1);
            const double centre = count / (1 + std::exp(-sum));
            for (int64_t s = 0; s < flow.keys; ++s) {
                const double distance = static_cast<double>(s) - centre;
                if (std::abs(distance) > reach) flow.scores.at(h, t, s) = kMasked;
                flow.weightFactor.at(h, t, s) *= std::exp(-2 * distance * distance / (reach * reach));
            }
        }
}
void referenceWeighByLocalP(ReferenceFlow& flow, PartValues) {
    const Dense factor = std::exchange(flow.weightFactor, {});
    for (size_t cell = 0; cell < factor.data.size(); ++cell) flow.pattern.data[cell] *= factor.data[cell];
}

} // namespace

const Part kLocalPMask{
    .id = "local_p",
    .slot = Slot::Mask,
    .title = "Predicted window (local-p)",
    .idea =
        "A small network predicts from each token the position of the keys that it needs, as a share of their number. "
        "The token sees a window around this position, and the weights fall off from its middle. Where no model gives "
        "the rows, as in the Playground, the query stands for them.",
    .formula =
        "p_t = S_t sigmoid(v . tanh(W x_t)), A(t,j) = softmax_j(s(t,j)) e^(-2 (j - p_t)^2 / D^2), |j - p_t| <= D",
    .source = {"Luong et al.", 2015, "Effective Approaches to Attention-based Neural Machine Translation",
               "section 3.2 (local-p)", "arXiv:1508.04025"},
    .params = kLocalPParams,
    .time = "O(T S D)",
    .memory = "O(T S), and O(H D C) parameters",
    .hooks = {{Stage::Mask, buildLocalP, referenceLocalP}, {Stage::Weights, weighByLocalP, referenceWeighByLocalP}},
    .mask = {.readsOtherSequence = true}};

const Part kAdaptiveSpanMask{
    .id = "adaptive_span",
    .slot = Slot::Mask,
    .title = "Adaptive span",
    .idea = "Each head learns how far it looks: a soft mask falls from 1 to 0 beyond its span, and a penalty keeps "
            "spans short. In a language model, few heads learn to look far.",
    .formula = "A(i,j) ~ m_z(i - j) e^(s(i,j)), m_z(x) = clamp((R + z - x) / R, 0, 1)",
    .source = {"Sukhbaatar et al.", 2019, "Adaptive Attention Span in Transformers", "section 2.2", "arXiv:1905.07799"},
    .params = kSpanParams,
    .time = "O(T span D)",
    .memory = "O(H) parameters",
    .hooks = {{Stage::Mask, buildAdaptiveSpan, referenceAdaptiveSpan, fuseAdaptiveSpan}}};

const Part kDynamicSpanMask{
    .id = "dynamic_span",
    .slot = Slot::Mask,
    .title = "Dynamic span",
    .idea = "Each token decides how far each head looks for it: the span of the soft mask is computed from the token. "
            "A penalty on the mean span teaches heads to look far only where it helps. Where no model gives the rows, "
            "as in the Playground, the query stands for them.",
    .formula = "z_t = S sigmoid(v . x_t + b), m_z(x) = clamp((R + z_t - x) / R, 0, 1)",
    .source = {"Sukhbaatar et al.", 2019, "Adaptive Attention Span in Transformers", "section 2.2 (dynamic)",
               "arXiv:1905.07799"},
    .params = kSpanParams,
    .time = "O(T S D)",
    .memory = "O(T S), and O(H C) parameters",
    .hooks = {{Stage::Mask, buildDynamicSpan, referenceDynamicSpan}}};

} // namespace attn
