#include "engine/attention/composed_attention.h"

#include "engine/attention/execution.h"
#include "engine/attention/part.h"
#include "engine/attention/terms.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace attn {
namespace {

using namespace terms;

AttentionFlow flowFor(const LayerAttention& layer, const AttentionSite& site, int64_t index, int64_t batch,
                      int64_t length) {
    const bool isStep = site.cacheCapacity > 0;
    return {.graph = *site.input.graph,
            .spec = *layer.spec,
            .prefix = site.prefix,
            .weights = site.weights,
            .layer = index,
            .batch = batch,
            .heads = layer.heads.heads,
            .groups = layer.heads.keyValueHeads,
            .queries = length,
            .keys = isStep ? site.keys : length,
            .width = layer.heads.width,
            .hasInputs = true,
            .mayFuse = !site.isFormed,
            .positions = isStep ? site.queryPosition : Tensor(),
            .context = site.cacheCapacity};
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

/// What a step of a site keeps from token to token.
class StepMemory {
public:
    StepMemory(const AttentionSite& site, AttentionFlow& flow, const HeadLayout& heads)
        : site_(site), flow_(flow), heads_(heads) {
        const StepExecution how = stepExecution(flow.spec, flow.context, flow.width, static_cast<int>(flow.layer));
        const bool isEdited = flow.graph.isEdited(site.prefix + ".hook_pattern");
        if (how.kind == StepKind::Kernel && !isEdited && !site.isFormed)
            flow.kernel = [this, rule = how.rule](const AttentionFlow&) { return fused(rule); };
        else if (how.kind != StepKind::State || isEdited || site.recordsQueries)
            flow.remember = [this](const char* letter, Tensor rows) { return keys(letter, rows); };
        // Gathering the keys by heads costs more than the products, unless few of them are read.
        if (flow.remember && 2 * site.keys > site.cacheCapacity) {
            flow.cachedProducts = [this] { return products(); };
            flow.cachedMix = [this](Tensor weights) { return mix(weights); };
        }
    }

    Tensor scores, pattern; ///< of the kernel, side branches: [H,T,S]

private:
    /// Writes rows into a cache. @param rows [1,G,T,D]  @return [capacity,G,D]
    Tensor cached(const char* letter, Tensor rows, std::optional<StepScalar> live) {
        const int64_t G = rows.shape()[1], D = heads_.width;
        const std::string name = site_.prefix + ".cache_" + letter;
        const Tensor state = flow_.graph.state(name, {.shape = {site_.cacheCapacity, G, D}, .liveRows = live});
        const Tensor updated = assign(state, byToken(rows), StepScalar::CacheOffset);
        flow_.updates.emplace_back(name, updated);
        return updated;
    }
    Tensor keys(const char* letter, Tensor rows) {
        const int64_t S = site_.keys, G = rows.shape()[1], D = heads_.width;
        const Tensor all = cached(letter, rows, {});
        (letter[0] == 'k' ? keys_ : values_) = all;
        return permute(reshape(slice(all, 0, 0, S), {1, S, G, D}), {0, 2, 1, 3});
    }
    Tensor products() {
        const int64_t H = heads_.heads, T = flow_.queries, L = site_.cacheCapacity;
        std::vector<float> places(static_cast<size_t>(L));
        std::iota(places.begin(), places.end(), 0.0f);
        const Tensor dots = attentionScores({.q = byToken(flow_.q),
                                             .k = keys_,
                                             .v = {},
                                             .queryPosition = site_.queryPosition,
                                             .keyPosition = toInteger(flow_.constant("cache.places", {L}, places))},
                                            {}); // [H,T,L]
        return slice(reshape(dots, {1, H, T, L}), 3, 0, site_.keys);
    }
    Tensor mix(Tensor weights) {
        const int64_t H = heads_.heads, T = flow_.queries, L = site_.cacheCapacity, D = heads_.width;
        const Tensor all = reshape(pad(weights, 3, 0, L - site_.keys), {H, T, L});
        return permute(reshape(attentionMix(all, values_, byToken(flow_.q)), {1, T, H, D}), {0, 2, 1, 3});
    }
    Tensor fused(const AttentionRule& rule) {
        const int64_t H = heads_.heads, T = flow_.queries, D = heads_.width;
        const AttentionInputs inputs{.q = byToken(flow_.q),
                                     .k = cached("k", flow_.k, StepScalar::KeyLength),
                                     .v = cached("v", flow_.v, StepScalar::KeyLength),
                                     .queryPosition = site_.queryPosition,
                                     .keyPosition = site_.keyPosition};
        scores = attentionScores(inputs, rule);
        pattern = softmax(scores);
        const Tensor z = fusedAttention(inputs, fill(flow_.graph, {H}, 1), rule);
        return permute(reshape(z, {1, T, H, D}), {0, 2, 1, 3});
    }
    /// [1,heads,T,D] -> [T,heads,D]
    static Tensor byToken(Tensor x) {
        return reshape(permute(x, {0, 2, 1, 3}), {x.shape()[2], x.shape()[1], x.shape()[3]});
    }

    const AttentionSite& site_;
    AttentionFlow& flow_;
    const HeadLayout& heads_;
    Tensor keys_, values_; ///< [capacity,G,D]
};

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
    const bool sharesKeys = flow.spec.part(Slot::Heads).sharesQueryKey;
    if (flow.spec.part(Slot::Mixer).usesQueriesKeys) {
        flow.q = probed(project("Q", H, input), H, "hook_q", "THD");
        flow.k = sharesKeys ? flow.q : probed(project("K", flow.groups, input), flow.groups, "hook_k", "TGD");
    }
    flow.v = probed(project("V", flow.groups, input), flow.groups, "hook_v", "TGD");
    if (flow.spec.part(Slot::Memory).stopsStates && !flow.isStep()) {
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
        return graph.probe(isOne ? reshape(cells, {H, T, cells.shape()[-1]}) : cells, name(hook),
                           isOne ? "HTS" : "BHTS");
    };
    if (graph.isEdited(name("hook_pattern")))
        flow.editPattern = [&](Tensor pattern) {
            return reshape(probeCells(pattern, "hook_pattern"), {B, H, T, flow.keys});
        };
    std::optional<StepMemory> memory;
    if (flow.isStep()) memory.emplace(site, flow, layer.heads);
    const Tensor projectedQueries = flow.q, projectedKeys = flow.k;
    buildAttention(flow);
    collect(flow, needs);
    if (flow.q != projectedQueries || (flow.groups == H && flow.k != projectedKeys)) { // as the scores use them
        const auto probeRows = [&](Tensor x, int64_t heads, const char* hook, const char* axes) { // [B,heads,T,D]
            graph.probe(reshape(permute(x, {0, 2, 1, 3}), {rows, heads, D}), name(hook), axes);
        };
        const int64_t G = flow.groups;
        const Tensor own = flow.newKeys ? flow.newKeys : flow.k;
        const int64_t copies = own.shape()[1] / G; // the heads of a group share their keys
        probeRows(flow.q, H, "hook_rot_q", "THD");
        probeRows(reshape(slice(reshape(own, {B * G, copies, T, D}), 1, 0, 1), {B, G, T, D}), G, "hook_rot_k", "TGD");
    }
    if (flow.factors && B == 1) { // for views of a part of the pattern
        const int64_t F = flow.factors->queries.shape()[-1];
        graph.probe(reshape(flow.factors->queries, {H, T, F}), name("hook_pattern_queries"), "HTF");
        graph.probe(reshape(broadcast(flow.factors->keys, {1, H, T, F}), {H, T, F}), name("hook_pattern_keys"), "HSF");
    }
    for (const auto& [term, cells] : flow.terms)
        probeCells(broadcast(cells, {B, H, T, flow.keys}), scoreTermHook(term).c_str());
    probeCells(flow.kernel ? memory->scores : flow.scores, "hook_attn_scores");
    if (!flow.editPattern) probeCells(flow.kernel ? memory->pattern : flow.pattern, "hook_pattern");

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
    nodes.updates = std::move(flow.updates);
    return nodes;
}

} // namespace attn
