#include "engine/attention/composed_attention.h"

#include "engine/attention/part.h"
#include "engine/attention/terms.h"

#include <algorithm>

namespace attn {
namespace {

using namespace terms;

AttentionFlow flowFor(const LayerAttention& layer, const AttentionSite& site, int64_t index, int64_t batch,
                      int64_t length) {
    return {.graph = *site.input.graph,
            .spec = *layer.spec,
            .prefix = site.prefix,
            .weights = site.weights,
            .layer = index,
            .batch = batch,
            .heads = layer.heads.heads,
            .groups = layer.heads.keyValueHeads,
            .queries = length,
            .keys = length,
            .width = layer.heads.width,
            .hasInputs = true};
}

/// Number of sequences in the site's rows.
int64_t sequencesOf(const AttentionSite& site) {
    return site.sequence == 0 ? 1 : site.input.shape()[0] / site.sequence;
}

/// Rows of every sequence by their numbers. @param x [sequences N, C]  @param ids I32 [R]  @return [sequences R, C]
Tensor taken(Tensor x, Tensor ids, int64_t sequences) {
    const int64_t N = x.shape()[0] / sequences, C = x.shape()[1], R = ids.shape()[0];
    if (sequences == 1) return take(x, ids);
    return reshape(take(reshape(x, {sequences, N, C}), broadcast(reshape(ids, {1, R}), {sequences, R})),
                   {sequences * R, C});
}

void collect(const AttentionFlow& flow, ComposedNeeds& needs) {
    needs.parameters.insert(needs.parameters.end(), flow.parameters.begin(), flow.parameters.end());
    needs.constants.insert(needs.constants.end(), flow.constants.begin(), flow.constants.end());
    needs.penalties.insert(needs.penalties.end(), flow.penalties.begin(), flow.penalties.end());
}

} // namespace

std::string scoreTermHook(std::string_view term) {
    std::string hook = "hook_" + std::string(term);
    std::ranges::replace(hook, '.', '_');
    return hook;
}

std::vector<const FlowConstant*> usedConstants(const Plan& plan, const ComposedNeeds& needs) {
    std::vector<const FlowConstant*> used;
    for (const FlowConstant& constant : needs.constants)
        if (std::ranges::find(plan.tensors, constant.name, &PlannedTensor::name) != plan.tensors.end())
            used.push_back(&constant);
    return used;
}

Tensor composedInputs(const LayerAttention& layer, const AttentionSite& site, int64_t index, ComposedNeeds& needs) {
    const int64_t rows = site.input.shape()[0], C = site.input.shape()[1];
    const int64_t sequences = sequencesOf(site);
    AttentionFlow flow = flowFor(layer, site, index, sequences, rows / sequences);
    flow.stream = reshape(site.input, {flow.batch, flow.queries, C});
    buildInputs(flow);
    collect(flow, needs);
    return reshape(flow.stream, {rows, C});
}

AttentionNodes composedAttention(const LayerAttention& layer, const AttentionSite& site, int64_t index,
                                 ComposedNeeds& needs) {
    Graph& graph = *site.input.graph;
    const int64_t C = site.residual.shape()[1], H = layer.heads.heads, D = layer.heads.width;
    const int64_t sequences = sequencesOf(site);
    const RowGroups* groups = site.groups;
    const Tensor input = groups ? taken(site.input, groups->order, sequences) : site.input;
    const int64_t rows = input.shape()[0], each = groups ? groups->length : rows / sequences;
    const auto name = [&](const char* part) { return site.prefix + "." + part; };
    const auto weight = [&](const std::string& part) {
        return (site.weights.empty() ? site.prefix : site.weights) + "." + part;
    };
    AttentionFlow flow = flowFor(layer, site, index, rows / each, each);
    const int64_t B = flow.batch, T = flow.queries;
    const auto byHead = [&](Tensor x, int64_t heads) { // [B T, heads D] -> [B,heads,T,D]
        return permute(reshape(x, {B, T, heads, D}), {0, 2, 1, 3});
    };
    const auto project = [&](const char* letter, int64_t heads, Tensor states) {
        MatmulOptions options;
        if (layer.queryKeyValueBias) options.bias = graph.parameter(weight("b_") + letter, {heads * D});
        return matmul(states, graph.parameter(weight("W_") + letter, {heads * D, C}), options);
    };
    const auto probed = [&](Tensor x, int64_t heads, const char* hook, const char* axes) {
        return byHead(graph.probe(reshape(x, {rows, heads, D}), name(hook), axes), heads);
    };
    const bool sharesKeys = flow.spec.parts.at(Slot::Heads).id == "shared_query_key";
    if (flow.spec.part(Slot::Mixer).usesQueriesKeys) {
        flow.q = probed(project("Q", H, input), H, "hook_q", "THD");
        flow.k = sharesKeys ? flow.q : probed(project("K", flow.groups, input), flow.groups, "hook_k", "TGD");
    }
    flow.v = probed(project("V", flow.groups, input), flow.groups, "hook_v", "TGD");
    if (flow.spec.part(Slot::Memory).stopsStates) {
        const Tensor states = stopGradient(input);
        flow.rememberedKeys =
            sharesKeys ? byHead(project("Q", H, states), H) : byHead(project("K", flow.groups, states), flow.groups);
        flow.rememberedValues = byHead(project("V", flow.groups, states), flow.groups);
    }
    if (groups && groups->visible) {
        const Shape cells{1, groups->groups, each * each};
        flow.sequenceMask =
            reshape(broadcast(reshape(groups->visible, cells), {sequences, cells[1], cells[2]}), {B, 1, each, each});
    }
    const auto probeCells = [&](Tensor cells, const char* hook) {
        if (!cells) return cells;
        const bool isOne = B == 1 && !groups;
        return graph.probe(isOne ? reshape(cells, {H, T, T}) : cells, name(hook), isOne ? "HTS" : "BHTS");
    };
    if (graph.isEdited(name("hook_pattern")))
        flow.editPattern = [&](Tensor pattern) { return reshape(probeCells(pattern, "hook_pattern"), {B, H, T, T}); };
    const Tensor projectedQueries = flow.q, projectedKeys = flow.k;
    buildAttention(flow);
    collect(flow, needs);
    if (flow.q != projectedQueries || (flow.groups == H && flow.k != projectedKeys)) { // as the scores use them
        const auto probeRows = [&](Tensor x, int64_t heads, const char* hook, const char* axes) { // [B,heads,T,D]
            graph.probe(reshape(permute(x, {0, 2, 1, 3}), {rows, heads, D}), name(hook), axes);
        };
        const int64_t G = flow.groups;
        const Tensor ofGroups = slice(reshape(flow.k, {B * G, H / G, T, D}), 1, 0, 1); // the heads of a group share it
        probeRows(flow.q, H, "hook_rot_q", "THD");
        probeRows(reshape(ofGroups, {B, G, T, D}), G, "hook_rot_k", "TGD");
    }
    if (flow.factors && B == 1) { // for views of a part of the pattern
        const int64_t F = flow.factors->queries.shape()[-1];
        graph.probe(reshape(flow.factors->queries, {H, T, F}), name("hook_pattern_queries"), "HTF");
        graph.probe(reshape(broadcast(flow.factors->keys, {1, H, T, F}), {H, T, F}), name("hook_pattern_keys"), "HSF");
    }
    for (const auto& [term, cells] : flow.terms)
        probeCells(broadcast(cells, {B, H, T, T}), scoreTermHook(term).c_str());
    probeCells(flow.scores, "hook_attn_scores");
    if (!flow.editPattern) probeCells(flow.pattern, "hook_pattern");

    const Tensor gates = reshape(graph.input(name("gates"), {.shape = {H}}), {H, 1, 1});
    const Tensor z = permute(times(flow.z, gates), {0, 2, 1, 3}); // [B,H,T,D] -> [B,T,H,D]
    Tensor flat = reshape(graph.probe(reshape(z, {rows, H, D}), name("hook_z"), "THD"), {rows, H * D});
    if (groups) flat = taken(flat, groups->places, sequences);

    const std::optional<Tensor> bias =
        layer.outputBias ? std::optional(graph.parameter(weight("b_O"), {C})) : std::nullopt;
    const size_t lastDot = site.prefix.rfind('.');
    const SublayerNodes joined = joinStream(flat, graph.parameter(weight("W_O"), {C, H * D}), bias, site.outputScale,
                                            site.residual, site.prefix.substr(0, lastDot) + ".hook_attn_out");
    AttentionNodes nodes;
    nodes.added = joined.added;
    nodes.output = joined.output;
    return nodes;
}

} // namespace attn
