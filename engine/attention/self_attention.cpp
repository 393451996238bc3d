#include "engine/attention/self_attention.h"

#include "engine/ops/tensor_ops.h"

#include <cmath>

namespace attn {

AttentionNodes selfAttention(const LayerAttention& spec, const AttentionSite& site) {
    Graph& graph = *site.input.graph;
    const int64_t H = spec.heads.heads, G = spec.heads.keyValueHeads, D = spec.heads.width;
    const int64_t T = site.input.shape()[0], C = site.residual.shape()[1], S = site.cacheCapacity;
    const auto name = [&](const char* part) { return site.prefix + "." + part; };

    const auto project = [&](const char* letter, int64_t heads) {
        MatmulOptions options;
        if (spec.queryKeyValueBias) options.bias = graph.parameter(name("b_") + letter, {heads * D});
        const Tensor weight = graph.parameter(name("W_") + letter, {heads * D, C});
        return reshape(matmul(site.input, weight, options), {T, heads, D}); // [T,C] -> [T,heads,D]
    };
    Tensor q = graph.probe(project("Q", H), name("hook_q"), "THD");
    Tensor k = graph.probe(project("K", G), name("hook_k"), "TGD");
    const Tensor v = graph.probe(project("V", G), name("hook_v"), "TGD");
    if (spec.rotary) {
        const auto [rotQ, rotK] = rotary(q, k, site.rotaryTable, site.queryPosition, spec.rotary->interleaved);
        q = graph.probe(rotQ, name("hook_rot_q"), "THD");
        k = graph.probe(rotK, name("hook_rot_k"), "TGD");
    }

    AttentionNodes nodes;
    AttentionRule rule = spec.rule;
    rule.sequence = site.sequence;
    if (site.reach != 0) rule.window = site.reach;
    const auto cache = [&](const char* letter, Tensor value, int64_t heads) {
        if (S == 0) return value;
        const std::string stateName = site.prefix + ".cache_" + letter;
        const Tensor state =
            graph.state(stateName, {.shape = {S, heads, D}, .dtype = DType::F32, .liveRows = StepScalar::KeyLength});
        const Tensor updated = assign(state, value, StepScalar::CacheOffset);
        nodes.updates.emplace_back(stateName, updated);
        return updated;
    };
    const AttentionInputs inputs{.q = q,
                                 .k = cache("k", k, G),
                                 .v = cache("v", v, G),
                                 .queryPosition = site.queryPosition,
                                 .keyPosition = site.keyPosition};
    nodes.cached = inputs;
    if (site.recordsQueries) nodes.cached.q = cache("q", q, H);

    const Tensor scores = graph.probe(attentionScores(inputs, rule), name("hook_attn_scores"), "HTS");
    const Tensor pattern = graph.probe(softmax(scores), name("hook_pattern"), "HTS");

    const Tensor gates = graph.input(name("gates"), {.shape = {H}});
    // The fused kernel computes no pattern that could be changed. Without it, the change of hook_z applies the gates.
    const bool isChanged = graph.isEdited(name("hook_attn_scores")) || graph.isEdited(name("hook_pattern"));
    const auto formed = [&] { return attentionMix(pattern, inputs.v, q); };
    const Tensor own = isChanged       ? formed()
                       : site.isFormed ? binary(formed(), reshape(gates, {H, 1}), Binary::Multiply)
                                       : fusedAttention(inputs, gates, rule);
    const Tensor z = graph.probe(own, name("hook_z"), "THD");

    const std::optional<Tensor> bias =
        spec.outputBias ? std::optional(graph.parameter(name("b_O"), {C})) : std::nullopt;
    const size_t lastDot = site.prefix.rfind('.');
    const SublayerNodes joined =
        joinStream(reshape(z, {T, H * D}), graph.parameter(name("W_O"), {C, H * D}), bias, site.outputScale,
                   site.residual, site.prefix.substr(0, lastDot) + ".hook_attn_out");
    nodes.added = joined.added;
    nodes.output = joined.output;
    return nodes;
}

SublayerNodes joinStream(Tensor x, Tensor weight, std::optional<Tensor> bias, Tensor scale, Tensor residual,
                         const std::string& probe) {
    const Tensor product = matmul(x, weight, {.bias = bias});
    const Tensor added = x.graph->probe(scale ? binary(product, scale, Binary::Multiply) : product, probe, "TC");
    if (!residual) return {added, {}};
    // Without a scale the sum is the product's own last step.
    return {added, scale || x.graph->isEdited(probe) ? add(residual, added)
                                                     : matmul(x, weight, {.bias = bias, .residual = residual})};
}

std::vector<float> rotaryTableValues(const RotaryPosition& rotary, int64_t positions) {
    const size_t half = rotary.inverseFrequencies.size();
    std::vector<float> values;
    values.reserve(static_cast<size_t>(positions) * half * 2);
    for (int64_t position = 0; position < positions; ++position) {
        for (double frequency : rotary.inverseFrequencies)
            values.push_back(
                static_cast<float>(rotary.magnitude * std::cos(static_cast<double>(position) * frequency)));
        for (double frequency : rotary.inverseFrequencies)
            values.push_back(
                static_cast<float>(rotary.magnitude * std::sin(static_cast<double>(position) * frequency)));
    }
    return values;
}

} // namespace attn
