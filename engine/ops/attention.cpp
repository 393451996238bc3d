#include "engine/host/attention.h"
#include "engine/host/pattern.h"
#include "engine/host/product.h"
#include "engine/host/scores.h"
#include "engine/ops/attention_reference.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {

AttentionRule ruleOf(const Attributes& attributes) {
    return {.scale = attributes.number("scale"),
            .causal = attributes.flag("causal"),
            .window = attributes.integer("window"),
            .sequence = attributes.integer("sequence")};
}

bool isVisible(const AttentionRule& rule, const ReferenceTensor& queryPosition, const ReferenceTensor& keyPosition,
               int64_t t, int64_t s) {
    const auto queryAt = static_cast<int64_t>(queryPosition.data[t]), keyAt = static_cast<int64_t>(keyPosition.data[s]);
    if (rule.causal && keyAt > queryAt) return false;
    if (rule.sequence != 0 && t / rule.sequence != s / rule.sequence) return false;
    return rule.window == 0 || queryAt - keyAt < rule.window;
}

void requireAttention(std::span<const TensorType> qkPositions, std::string_view op) {
    const Shape &q = qkPositions[0].shape, &k = qkPositions[1].shape, &qPos = qkPositions[2].shape,
                &kPos = qkPositions[3].shape;
    require(q.rank() == 3 && k.rank() == 3 && q[2] == k[2], op,
            fmt::format("q {} must be [T,H,D] and k {} [S,G,D] with the same D", q.text(), k.text()));
    if (q[1] % k[1] != 0)
        throw Error({.what = fmt::format("{} heads cannot share {} key/value heads", q[1], k[1]),
                     .where = std::string(op),
                     .hint = "choose a number of key/value heads that divides the number of heads"});
    require(qPos == Shape{q[0]} && kPos == Shape{k[0]} && qkPositions[2].dtype == DType::I32 &&
                qkPositions[3].dtype == DType::I32,
            op, fmt::format("positions must be I32 [{}] and [{}]", q[0], k[0]));
}

std::vector<uint32_t> attentionPush(const OpTypes& types) {
    const Shape &q = types.inputs[0].shape, &k = types.inputs[1].shape;
    const AttentionRule rule = ruleOf(types.attributes);
    return {u32(q[0]),
            u32(k[0]),
            u32(q[1]),
            u32(k[1]),
            u32(q.rowStride() / 4),
            pushFloat(rule.scale),
            u32(rule.window),
            rule.causal ? 1u : 0u,
            liveSlot(types.inputs[0]),
            u32(types.attributes.integer("liveKeys")),
            u32(rule.sequence)};
}

int64_t rowTiles(const AttentionRule& rule, int64_t rows) {
    const int64_t sequence = rule.sequence == 0 ? rows : rule.sequence;
    return (rows + sequence - 1) / sequence * ((sequence + 7) / 8);
}

HostAttention::HostAttention(const OpTypes& types, bool hasValues)
    : queries_(types.inputs[0]), keys_(types.inputs[1].shape), rule_(ruleOf(types.attributes)),
      liveKeys_(static_cast<size_t>(types.attributes.integer("liveKeys"))), hasValues_(hasValues) {
    if (hasValues && types.inputs.size() == 7) bias_ = types.inputs[6].shape;
}

host::Attention HostAttention::of(const HostRun& run) const {
    const Shape& q = queries_.shape;
    return {.T = queries_.liveRows ? std::min<int64_t>(run.step[*queries_.liveRows], q[0]) : q[0],
            .S = liveKeys_ == kNoLiveSlot ? keys_[0] : std::min<int64_t>(run.step.words[liveKeys_], keys_[0]),
            .capacity = q[0],
            .H = q[1],
            .G = keys_[1],
            .D = q[2],
            .stride = q.rowStride(),
            .scale = static_cast<float>(rule_.scale),
            .causal = rule_.causal,
            .window = rule_.window,
            .sequence = rule_.sequence,
            .q = run.inputs[0],
            .k = run.inputs[1],
            .v = hasValues_ ? run.inputs[2] : nullptr,
            .queryPosition = run.integers(hasValues_ ? 3 : 2),
            .keyPosition = run.integers(hasValues_ ? 4 : 3),
            .gates = hasValues_ ? run.inputs[5] : nullptr,
            .bias = bias_ ? run.inputs[6] : nullptr,
            .biasColumns = bias_ ? bias_->columns() : 0,
            .biasStride = bias_ ? bias_->rowStride() : 0};
}

double referenceScore(const ReferenceTensor& q, const ReferenceTensor& k, int64_t t, int64_t head, int64_t s,
                      double scale) {
    const int64_t heads = q.shape[1], groups = k.shape[1];
    const double *a = q.row(t * heads + head), *b = k.row(s * groups + head / (heads / groups));
    double dot = 0;
    for (int64_t d = 0; d < q.columns(); ++d) dot += a[d] * b[d];
    return dot * scale;
}

int64_t liveKeys(const ReferenceCall& call, int64_t capacity) {
    const auto slot = static_cast<size_t>(call.attributes.integer("liveKeys"));
    return slot == kNoLiveSlot ? capacity : std::min<int64_t>(call.step.words[slot], capacity);
}

std::vector<double> referenceScores(const ReferenceCall& call, const ReferenceTensor& q, const ReferenceTensor& k,
                                    const ReferenceTensor& queryPosition, const ReferenceTensor& keyPosition, int64_t t,
                                    int64_t head) {
    const AttentionRule rule = ruleOf(call.attributes);
    std::vector<double> scores(static_cast<size_t>(k.shape[0]), kMasked);
    for (int64_t s = 0; s < liveKeys(call, k.shape[0]); ++s)
        if (isVisible(rule, queryPosition, keyPosition, t, s))
            scores[static_cast<size_t>(s)] = referenceScore(q, k, t, head, s, rule.scale);
    return scores;
}

RowStatistics statisticsOf(std::span<const double> scores) {
    double maximum = kMasked, sum = 0;
    for (double score : scores) maximum = std::max(maximum, score);
    if (maximum <= kMasked) return {};
    for (double score : scores) sum += score <= kMasked ? 0 : std::exp(score - maximum);
    return {maximum, 1 / sum};
}

double probabilityOf(double score, const RowStatistics& row) {
    return score <= kMasked ? 0 : std::exp(score - row.maximum) * row.inverseSum;
}

Attributes ruleAttributes(const AttentionRule& rule, const AttentionInputs& inputs) {
    const Tensor keys = inputs.k.type().liveRows || !inputs.keyPosition ? inputs.k : inputs.keyPosition;
    return {{"scale", rule.scale},
            {"causal", rule.causal ? 1 : 0},
            {"window", static_cast<double>(rule.window)},
            {"sequence", static_cast<double>(rule.sequence)},
            {"liveKeys", static_cast<double>(liveSlot(keys.type()))}};
}

namespace {

// attentionScores: q, k, queryPosition, keyPosition ------------------------------------------------------------------

std::vector<TensorType> inferScores(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 4, "attention_scores");
    requireAttention(inputs, "attention_scores");
    return {{.shape = {inputs[0].shape[1], inputs[0].shape[0], inputs[1].shape[0]}}};
}

void referenceAttentionScores(const ReferenceCall& call) {
    const ReferenceTensor &q = call.inputs[0], &scores = call.outputs[0];
    for (int64_t head = 0; head < q.shape[1]; ++head)
        for (int64_t t = 0; t < q.shape[0]; ++t) {
            const auto row = referenceScores(call, q, call.inputs[1], call.inputs[2], call.inputs[3], t, head);
            std::copy(row.begin(), row.end(), scores.row(head * q.shape[0] + t));
        }
}

std::vector<Dispatch> dispatchScores(const OpTypes& types, const KernelTraits&) {
    const Shape& out = types.outputs[0].shape;
    return {{.shader = "attention/scores",
             .bindings = {load4(0), load4(1), readInput(2), readInput(3), writeOutput(0)},
             .push = attentionPush(types),
             .x = GridAxis::fixed(u32((out.rowStride() + 63) / 64)),
             .y = GridAxis::fixed(u32(out[1])),
             .z = GridAxis::fixed(u32(out[0]))}};
}

HostKernel hostScores(const OpTypes& types) {
    return [problem = HostAttention(types, false), S = types.inputs[1].shape[0]](const HostRun& run) {
        host::attentionScores(problem.of(run), S, run.outputs[0], run.pool);
    };
}

/// Hidden cells receive no gradient. This is right if the scores go through a softmax.
std::vector<Tensor> gradientScores(const GradientCall& call) {
    const Tensor q = call.inputs[0], k = call.inputs[1], d = call.outputGradients[0];
    const double factor = call.attributes.number("scale");
    return {scale(attentionMix(d, k, q), factor), scale(attentionMixTransposed(d, q, k.shape()[1]), factor), {}, {}};
}

// attentionMix: pattern, v -------------------------------------------------------------------------------------------

std::vector<TensorType> inferMix(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 3, "attention_mix");
    const Shape &pattern = inputs[0].shape, &v = inputs[1].shape;
    require(pattern.rank() == 3 && v.rank() == 3 && pattern[2] == v[0] && pattern[0] % v[1] == 0, "attention_mix",
            fmt::format("pattern {} must be [H,T,S] and v {} [S,G,D]", pattern.text(), v.text()));
    return {{.shape = {pattern[1], pattern[0], v[2]}, .liveRows = inputs[2].liveRows}};
}

void referenceMix(const ReferenceCall& call) {
    const ReferenceTensor &pattern = call.inputs[0], &v = call.inputs[1], &z = call.outputs[0];
    const int64_t heads = pattern.shape[0], queries = pattern.shape[1], groups = v.shape[1];
    for (int64_t t = 0; t < queries; ++t)
        for (int64_t head = 0; head < heads; ++head)
            for (int64_t s = 0; s < liveKeys(call, v.shape[0]); ++s)
                for (int64_t d = 0; d < v.columns(); ++d)
                    z.row(t * heads + head)[d] +=
                        pattern.row(head * queries + t)[s] * v.row(s * groups + head / (heads / groups))[d];
}

std::vector<Dispatch> dispatchMix(const OpTypes& types, const KernelTraits&) {
    const Shape &out = types.outputs[0].shape, &v = types.inputs[1].shape;
    return {{.shader = "attention/mix",
             .bindings = {readInput(0), load4(1), writeOutput(0)},
             .push = {u32(out[0]), u32(v[0]), u32(out[1]), u32(v[1]), u32(out.rowStride() / 4),
                      u32(types.inputs[0].shape.rowStride()), liveSlot(types.outputs[0]), liveSlot(types.inputs[1])},
             .x = gridPerVec4(types.outputs[0]).x,
             .y = gridPerVec4(types.outputs[0]).y}};
}

HostKernel hostMix(const OpTypes& types) {
    const auto slot = static_cast<size_t>(types.attributes.integer("liveKeys"));
    return [=, pattern = types.inputs[0].shape, v = types.inputs[1].shape, z = types.outputs[0]](const HostRun& run) {
        const int64_t H = pattern[0],
                      T = z.liveRows ? std::min<int64_t>(run.step[*z.liveRows], pattern[1]) : pattern[1],
                      S = slot == kNoLiveSlot ? v[0] : std::min<int64_t>(run.step.words[slot], v[0]), D = v.columns(),
                      stride = v.rowStride();
        constexpr int64_t kRows = 64, kKeys = 128; // rows of a task; keys of each product in a step
        const int64_t blocks = (T + kRows - 1) / kRows;
        run.pool.run(H * blocks, [&](int64_t i) {
            const int64_t head = i / blocks, first = i % blocks * kRows, rows = std::min(kRows, T - first);
            float* out = run.outputs[0] + (first * H + head) * stride;
            const float *weights = run.inputs[0] + (head * pattern[1] + first) * pattern.rowStride(),
                        *values = run.inputs[1] + head / (H / v[1]) * stride;
            // In a step, a row's bits do not depend on the number of queries and keys.
            const int64_t together = slot == kNoLiveSlot ? std::max<int64_t>(S, 1) : kKeys;
            for (int64_t s = 0; s < S; s += together) {
                const int64_t keys = std::min(together, S - s);
                if (slot == kNoLiveSlot || keys == kKeys) {
                    host::steadyProduct({rows, D, keys}, {weights + s, pattern.rowStride()},
                                        {values + s * v[1] * stride, v[1] * stride}, out, H * stride, 1,
                                        s == 0 ? 0.0f : 1.0f);
                    continue;
                }
                float* last = host::scratch(kRows * kKeys, 0);
                for (int64_t row = 0; row < rows; ++row) {
                    std::copy_n(weights + row * pattern.rowStride() + s, keys, last + row * kKeys);
                    std::fill(last + row * kKeys + keys, last + (row + 1) * kKeys, 0.0f);
                }
                host::steadyProduct(
                    {rows, D, host::steadyTerms(keys)}, {last, kKeys},
                    host::padded(values + s * v[1] * stride, keys, host::steadyTerms(keys), v[1] * stride, stride, 1),
                    out, H * stride, 1, s == 0 ? 0.0f : 1.0f);
            }
            for (int64_t row = 0; row < rows; ++row)
                std::fill(out + row * H * stride + D, out + row * H * stride + stride, 0.0f);
        });
    };
}

std::vector<Tensor> gradientMix(const GradientCall& call) {
    const Tensor pattern = call.inputs[0], v = call.inputs[1], d = call.outputGradients[0];
    const auto positions = [&](int64_t rows) {
        return fill(call.graph, {rows}, 0, DType::I32);
    }; // every query sees every key
    const Tensor dPattern = attentionScores(
        {.q = d, .k = v, .v = v, .queryPosition = positions(d.shape()[0]), .keyPosition = positions(v.shape()[0])},
        {.causal = false});
    return {dPattern, attentionMixTransposed(pattern, d, v.shape()[1]), {}};
}

// fusedAttention: q, k, v, queryPosition, keyPosition, gates, bias (optional) -> z, statistics [H,T,4] (maximum of the
// scores in powers of two, 1 / sum of their exponentials, 0, 0) ------------------------------------------------------

std::vector<TensorType> inferFused(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, inputs.size() == 7 ? 7 : 6, "fused_attention");
    const std::array<TensorType, 4> main{inputs[0], inputs[1], inputs[3], inputs[4]};
    requireAttention(main, "fused_attention");
    require(inputs[2].shape == inputs[1].shape, "fused_attention",
            fmt::format("k {} and v {} differ", inputs[1].shape.text(), inputs[2].shape.text()));
    require(inputs[5].shape == Shape{inputs[0].shape[1]}, "fused_attention", "gates must be [H]");
    if (inputs.size() == 7)
        require(inputs[6].shape.rank() == 2 && inputs[6].shape[0] == inputs[0].shape[1] && inputs[6].shape[1] % 2 == 1,
                "fused_attention", fmt::format("the bias {} must be [H,N] with an odd N", inputs[6].shape.text()));
    return {inputs[0], {.shape = {inputs[0].shape[1], inputs[0].shape[0], 4}}};
}

void referenceFused(const ReferenceCall& call) {
    const ReferenceTensor &q = call.inputs[0], &k = call.inputs[1], &v = call.inputs[2], &z = call.outputs[0];
    const int64_t heads = q.shape[1], groups = k.shape[1];
    for (int64_t t = 0; t < q.shape[0]; ++t)
        for (int64_t head = 0; head < heads; ++head) {
            auto scores = referenceScores(call, q, k, call.inputs[3], call.inputs[4], t, head);
            for (size_t s = 0; s < scores.size() && call.inputs.size() == 7; ++s) {
                if (scores[s] <= kMasked) continue;
                const auto distance = static_cast<int64_t>(call.inputs[4].data[s] - call.inputs[3].data[t]);
                scores[s] += call.inputs[6].row(head)[distance + call.inputs[6].columns() / 2];
            }
            const RowStatistics row = statisticsOf(scores);
            double* statistics = call.outputs[1].row(head * q.shape[0] + t);
            statistics[0] = row.inverseSum == 0 ? -1e20 : row.maximum * std::numbers::log2e;
            statistics[1] = row.inverseSum;
            for (int64_t s = 0; s < k.shape[0]; ++s) {
                const double weight = probabilityOf(scores[static_cast<size_t>(s)], row) * call.inputs[5].data[head];
                for (int64_t d = 0; d < q.columns(); ++d)
                    z.row(t * heads + head)[d] += weight * v.row(s * groups + head / (heads / groups))[d];
            }
        }
}

/// The pattern is computed a second time and never stored. Gates have no gradient, because people set them.
std::vector<Tensor> gradientFused(const GradientCall& call) {
    require(call.inputs.size() == 6, "fused_attention", "a bias has no gradient");
    std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
    inputs.insert(inputs.end(), {call.outputs[0], call.outputs[1], call.outputGradients[0]});
    const Tensor dq = call.graph.add(kFusedAttentionGradient, inputs, call.attributes);
    return {dq, {dq.graph, dq.node, 1}, {dq.graph, dq.node, 2}, {}, {}, {}};
}

std::vector<Dispatch> dispatchFused(const OpTypes& types, const KernelTraits& traits) {
    const Shape& q = types.inputs[0].shape;
    const auto groups = [](int64_t count, int64_t per) { return GridAxis::fixed(u32((count + per - 1) / per)); };
    Dispatch result{.bindings = {load4(0), load4(1), load4(2), readInput(3), readInput(4), readInput(5), writeOutput(0),
                                 writeOutput(1)},
                    .push = attentionPush(types)};
    const bool isBiased = types.inputs.size() == 7;
    result.bindings.push_back(readInput(isBiased ? 6 : 5));
    const uint32_t distances = isBiased ? u32(types.inputs[6].shape[1]) : 0;
    const uint32_t blocks = q[2] > 32 ? 2 : 1; // of 32 features
    if (traits.prefersSubgroupTiles && q[0] == 1) {
        const uint32_t headsTogether = q[1] / types.inputs[1].shape[1] % 2 == 0 ? 2 : 1; // that share a key/value head
        result.shader = "attention/decode_subgroup8";
        result.specialisation = {8, 1, blocks, headsTogether, distances};
        result.x = groups(q[1], headsTogether);
        result.y = groups(1, 1);
        result.z = groups(q[2], 32 * blocks);
        return {result};
    }
    if (traits.prefersSubgroupTiles) {
        constexpr uint32_t kSubgroups = 1; // of 8 queries each
        result.shader = "attention/fused_subgroup8";
        result.specialisation = {8, kSubgroups, blocks, 0, distances};
        result.x = groups(rowTiles(ruleOf(types.attributes), q[0]), kSubgroups);
        result.z = groups(q[2], 32 * blocks);
    } else {
        result.shader = "attention/fused_shared";
        result.specialisation = {128, 1, 0, 0, distances};
        result.x = groups(q[0], 64);
        result.z = groups(q[2], 64);
    }
    result.y = groups(q[1], 1);
    return {result};
}

HostKernel hostFused(const OpTypes& types) {
    return [problem = HostAttention(types)](const HostRun& run) {
        host::attention(problem.of(run), run.outputs[0], run.outputs[1], run.pool);
    };
}

/// The number of operations for [T,H,D] and all S keys, including hidden ones.
/// @param products dot products (2 D operations each) per cell  @param others other operations per cell
double operationsOf(const Shape& q, int64_t keys, double products, double others) {
    return static_cast<double>(q.rows() * keys) * (products * 2 * static_cast<double>(q.columns()) + others);
}
double operationsScores(const OpTypes& types) {
    return operationsOf(types.inputs[0].shape, types.inputs[1].shape[0], 1, kScaleOperations);
}
double operationsMix(const OpTypes& types) {
    return operationsOf(types.outputs[0].shape, types.inputs[1].shape[0], 1, 0);
}
double operationsFused(const OpTypes& types) {
    return operationsOf(types.inputs[0].shape, types.inputs[1].shape[0], 2, kScaleOperations + kSoftmaxOperations);
}

} // namespace

const Op kAttentionScores{.name = "attention_scores",
                          .infer = inferScores,
                          .reference = referenceAttentionScores,
                          .dispatch = dispatchScores,
                          .host = hostScores,
                          .gradient = gradientScores,
                          .operations = operationsScores};
const Op kAttentionMix{.name = "attention_mix",
                       .infer = inferMix,
                       .reference = referenceMix,
                       .dispatch = dispatchMix,
                       .host = hostMix,
                       .gradient = gradientMix,
                       .operations = operationsMix};
const Op kFusedAttention{.name = "fused_attention",
                         .infer = inferFused,
                         .reference = referenceFused,
                         .dispatch = dispatchFused,
                         .host = hostFused,
                         .gradient = gradientFused,
                         .operations = operationsFused};

Tensor attentionScores(const AttentionInputs& inputs, const AttentionRule& rule) {
    return inputs.q.graph->add(kAttentionScores, {inputs.q, inputs.k, inputs.queryPosition, inputs.keyPosition},
                               ruleAttributes(rule, inputs));
}

Tensor attentionMix(Tensor pattern, Tensor v, Tensor like) {
    return pattern.graph->add(kAttentionMix, {pattern, v, like},
                              {{"liveKeys", static_cast<double>(liveSlot(v.type()))}});
}

Tensor fusedAttention(const AttentionInputs& inputs, Tensor gates, const AttentionRule& rule) {
    std::vector<Tensor> all{inputs.q, inputs.k, inputs.v, inputs.queryPosition, inputs.keyPosition, gates};
    if (inputs.bias) all.push_back(inputs.bias);
    return inputs.q.graph->add(kFusedAttention, all, ruleAttributes(rule, inputs));
}

} // namespace attn
