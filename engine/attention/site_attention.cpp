#include "engine/attention/site_attention.h"

#include "engine/attention/execution.h"
#include "engine/attention/step_memory.h"
#include "engine/attention/terms.h"
#include "engine/ops/gradient.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace attn {
namespace {

using namespace terms;

/// Number of sequences in the site's rows.
int64_t sequencesOf(const AttentionSite& site) {
    return site.sequence == 0 ? 1 : site.input.shape()[0] / site.sequence;
}

/// Whether the rows continue from a cache that they add to.
bool isStepOf(const AttentionSite& site) { return site.cacheCapacity > 0 && site.heldKeys == 0; }

/// A state of keys or values that holdKeys() sets. @return [capacity,G,D]
Tensor heldState(Graph& graph, const LayerAttention& layer, const AttentionSite& site, const char* letter) {
    return graph.state(fmt::format("{}.held_{}", site.prefix, letter),
                       {.shape = {site.cacheCapacity, layer.heads().groups, layer.headWidth}});
}

/// x . W + b for one of the projections of a site. @param letter "Q", "K" or "V"  @return [rows, heads D]
Tensor projection(const LayerAttention& layer, const AttentionSite& site, const char* letter, int64_t heads, Tensor x) {
    const std::string from = (site.weights.empty() ? site.prefix : site.weights) + ".";
    const int64_t features = heads * layer.headWidth;
    Graph& graph = *x.graph;
    MatmulOptions options;
    if (layer.queryKeyValueBias) options.bias = graph.parameter(from + "b_" + letter, {features});
    return matmul(x, graph.parameter(from + "W_" + letter, {features, x.shape()[1]}), options);
}

AttentionFlow flowFor(const LayerAttention& layer, const AttentionSite& site, int64_t index, int64_t batch,
                      int64_t length) {
    const bool isStep = isStepOf(site);
    const HeadCounts counts = layer.heads();
    return {.graph = *site.input.graph,
            .spec = layer.spec,
            .prefix = site.prefix,
            .weights = site.weights,
            .positionWeights = site.positionWeights,
            .stackWeights = site.stackWeights,
            .layer = index,
            .batch = batch,
            .heads = counts.heads,
            .groups = counts.groups,
            .queries = length,
            .keys = isStep              ? site.keys
                    : site.heldKeys > 0 ? site.heldKeys
                    : site.keyInput     ? site.keyInput.shape()[0] / batch
                                        : length,
            .width = layer.headWidth,
            .hasInputs = true,
            .mayFuse = !site.isFormed,
            .positions = isStep ? site.queryPosition : Tensor(),
            .context = site.cacheCapacity,
            .treeDepths = site.treeDepths,
            .treeRelations = site.treeRelations};
}

/// Rows of every sequence by their numbers. @param x [sequences N, C]  @param ids I32 [R]  @return [sequences R, C]
Tensor taken(Tensor x, Tensor ids, int64_t sequences) {
    const int64_t N = x.shape()[0] / sequences, C = x.shape()[1], R = ids.shape()[0];
    if (sequences == 1) return take(x, ids);
    return reshape(take(reshape(x, {sequences, N, C}), broadcast(reshape(ids, {1, R}), {sequences, R})),
                   {sequences * R, C});
}

void collect(const AttentionFlow& flow, PartTensors& needs) {
    needs.parameters.insert(needs.parameters.end(), flow.parameters.begin(), flow.parameters.end());
    needs.constants.insert(needs.constants.end(), flow.constants.begin(), flow.constants.end());
    needs.penalties.insert(needs.penalties.end(), flow.penalties.begin(), flow.penalties.end());
    needs.averages.insert(needs.averages.end(), flow.averages.begin(), flow.averages.end());
}

/// Builds the attention of a site.
class SiteBuilder {
public:
    SiteBuilder(const LayerAttention& layer, const AttentionSite& site, int64_t index, PartTensors& needs)
        : layer_(layer), site_(site), needs_(needs), graph_(*site.input.graph), sequences_(sequencesOf(site)),
          input_(site.groups ? taken(site.input, site.groups->order, sequences_) : site.input),
          flow_(flowFor(layer, site, index, input_.shape()[0] / lengthOf(), lengthOf())) {}

    AttentionNodes build() {
        if (mixesStream(layer_.spec)) return mixed();
        const auto rule = kernelRuleHere();
        Tensor z = graph_.probe(rule ? byKernel(*rule) : byParts(), name("hook_z"), "THD");
        const int64_t C = site_.residual.shape()[1], features = flow_.heads * flow_.width;
        z = reshape(z, {rows(), features});
        if (site_.groups) z = taken(z, site_.groups->places, sequences_);
        const std::optional<Tensor> bias =
            layer_.outputBias ? std::optional(graph_.parameter(weight("b_O"), {C})) : std::nullopt;
        const SublayerNodes joined = joinStream(z, graph_.parameter(weight("W_O"), {C, features}), bias,
                                                site_.outputScale, site_.residual, outHook());
        collect(flow_, needs_);
        return {.output = joined.output, .added = joined.added, .updates = std::move(flow_.updates)};
    }

private:
    int64_t lengthOf() const { return site_.groups ? site_.groups->length : input_.shape()[0] / sequences_; }
    int64_t rows() const { return input_.shape()[0]; }
    std::string name(const char* part) const { return site_.prefix + "." + part; }
    std::string weight(const std::string& part) const {
        return (site_.weights.empty() ? site_.prefix : site_.weights) + "." + part;
    }
    const Part& part(Slot slot) const { return layer_.spec.part(slot); }

    /// The hook of what the site adds to the stream: "blocks.0.hook_attn_out".
    std::string outHook() const {
        const size_t place = site_.prefix.rfind('.'); // of the site in its block
        return fmt::format("{}.hook_{}_out", site_.prefix.substr(0, place), site_.prefix.substr(place + 1));
    }

    /// A mixer acts on the rows themselves, and what it gives is added to the stream.
    AttentionNodes mixed() {
        const int64_t B = flow_.batch, T = flow_.queries, C = input_.shape()[1];
        flow_.width = C;
        flow_.v = reshape(input_, {B, 1, T, C});
        setMasks();
        buildAttention(flow_);
        for (const auto& [unit, tensor] : flow_.units)
            graph_.probe(reshape(tensor, {rows(), tensor.shape().columns()}), name("hook_") + unit, "TU");
        const Tensor z = graph_.probe(byToken(times(flow_.z, reshape(gates(), {1, 1, 1}))), name("hook_z"), "THD");
        Tensor added = reshape(z, {rows(), C});
        if (site_.groups) added = taken(added, site_.groups->places, sequences_);
        if (site_.outputScale) added = times(added, site_.outputScale);
        added = graph_.probe(added, outHook(), "TC");
        collect(flow_, needs_);
        return {.output = add(site_.residual, added), .added = added, .updates = std::move(flow_.updates)};
    }

    /// The rule of the fused kernel for these rows; nothing if the parts must build the attention.
    std::optional<AttentionRule> kernelRuleHere() const {
        if (site_.groups || site_.queryRank || (site_.sequence % 4 != 0 && !isPaged(site_)) ||
            (site_.keyInput && site_.sequence != 0))
            return {};
        const int64_t length = isPaged(site_)   ? site_.keys
                               : flow_.isStep() ? site_.cacheCapacity
                                                : std::max(flow_.queries, flow_.keys);
        auto rule = kernelRule(layer_.spec, length, flow_.width, static_cast<int>(flow_.layer));
        if (!rule) return {};
        if (site_.positions == 0 && (rule->causal || part(Slot::Position).position.rotation)) return {};
        rule->sequence = isPaged(site_) ? 0 : site_.sequence;
        if (site_.isPadded) rule->causal = true;
        if (site_.reach != 0 && std::exchange(rule->window, site_.reach) != 0) return {}; // it has one already
        return rule;
    }

    /// @param states [rows,C]  @return [rows, heads D]
    Tensor project(const char* letter, int64_t heads, Tensor states) {
        return projection(layer_, site_, letter, heads, states);
    }
    /// @return [rows,heads,D]
    Tensor projected(const char* letter, int64_t heads, const char* hook, const char* axes) {
        if (*letter != 'Q' && site_.heldKeys > 0)
            return slice(heldState(graph_, layer_, site_, letter), 0, 0, site_.heldKeys);
        const Tensor states = *letter != 'Q' && site_.keyInput ? site_.keyInput : input_;
        return graph_.probe(reshape(project(letter, heads, states), {states.shape()[0], heads, flow_.width}),
                            name(hook), axes);
    }
    /// [rows, heads D] or [rows,heads,D] -> [B,heads,T,D]
    Tensor byHead(Tensor x, int64_t heads) {
        return permute(reshape(x, {flow_.batch, x.shape()[0] / flow_.batch, heads, flow_.width}), {0, 2, 1, 3});
    }
    /// The axes of keys and values: 'S' are rows of another stream.
    const char* keyAxes() const { return site_.keyInput ? "SGD" : "TGD"; }
    Tensor gates() {
        return graph_.input(site_.gates.empty() ? name("gates") : site_.gates + ".gates", {.shape = {flow_.heads}});
    }

    // By the kernel.

    /// For each position, R/2 cosines and then R/2 sines.
    Tensor rotaryTable(const Rotation& rotation) {
        const int64_t P = site_.positions, pairs = std::ssize(rotation.frequencies);
        const std::string name =
            fmt::format("rotary.table#{}x{}:{}", P, pairs, fmt::join(layer_.spec.parts.at(Slot::Position).values, ","));
        return flow_.table(name, {P, 2 * pairs}, [P, rotation] {
            std::vector<float> values;
            for (int64_t position = 0; position < P; ++position)
                for (double (*wave)(double) :
                     {static_cast<double (*)(double)>(std::cos), static_cast<double (*)(double)>(std::sin)})
                    for (const double frequency : rotation.frequencies)
                        values.push_back(static_cast<float>(wave(static_cast<double>(position) * frequency)));
            return values;
        });
    }

    /// @return [T,H,D]
    Tensor byKernel(const AttentionRule& rule) {
        requireSound(flow_);
        const int64_t H = flow_.heads, G = flow_.groups;
        Tensor q = projected("Q", H, "hook_q", "THD"), k = projected("K", G, "hook_k", keyAxes());
        const Tensor v = projected("V", G, "hook_v", keyAxes());
        if (const auto rotationOf = part(Slot::Position).position.rotation) {
            const Rotation rotation = rotationOf(layer_.spec.values(Slot::Position), flow_.width);
            const Rotated turned = rotary(q, k, rotaryTable(rotation), site_.queryPosition, rotation.isInterleaved);
            q = graph_.probe(turned.q, name("hook_rot_q"), "THD");
            k = graph_.probe(turned.k, name("hook_rot_k"), "TGD");
        }
        const auto kept = [&](const char* letter, Tensor rows) {
            return flow_.isStep() ? cached(site_, letter, rows, StepScalar::KeyLength, flow_.updates) : rows;
        };
        const AttentionInputs inputs{.q = q,
                                     .k = kept("k", k),
                                     .v = kept("v", v),
                                     .queryPosition = site_.queryPosition,
                                     .keyPosition = site_.keyPosition};
        if (isPaged(site_)) return pagedAttention(inputs, pagedSequences(q, site_.keys), gates(), rule);
        if (site_.recordsQueries) kept("q", q);
        const Tensor pattern =
            graph_.probe(softmax(graph_.probe(attentionScores(inputs, rule), name("hook_attn_scores"), "HTS")),
                         name("hook_pattern"), "HTS");
        // The fused kernel computes no pattern that could be changed. Without it, the change of hook_z applies the
        // gates.
        const bool isChanged = graph_.isChanged(name("hook_attn_scores")) || graph_.isChanged(name("hook_pattern")),
                   hasOutput = hasHooks(layer_.spec, Stage::Output);
        const auto gated = [&](Tensor z) { return times(z, reshape(gates(), {H, 1})); };
        const bool isFormed = isChanged || site_.isFormed;
        const Tensor z = isFormed ? attentionMix(pattern, inputs.v, q)
                                  : fusedAttention(inputs, hasOutput ? fill(graph_, {H}, 1) : gates(), rule);
        if (hasOutput) {
            flow_.q = byHead(q, H);
            flow_.z = byHead(z, H);
            buildStage(flow_, Stage::Output);
            return gated(byToken(flow_.z));
        }
        return isFormed && !isChanged ? gated(z) : z;
    }

    // By the parts.

    void setInputs() {
        flow_.stream = reshape(input_, {flow_.batch, flow_.queries, input_.shape()[1]});
        if (site_.heldKeys == 0) {
            const Tensor rows = site_.keyInput ? site_.keyInput : input_;
            flow_.keyStream = reshape(rows, {flow_.batch, rows.shape()[0] / flow_.batch, rows.shape()[1]});
        }
        const bool sharesKeys = part(Slot::Heads).sharesQueryKey;
        flow_.q = byHead(projected("Q", flow_.heads, "hook_q", "THD"), flow_.heads);
        flow_.k = sharesKeys ? flow_.q : byHead(projected("K", flow_.groups, "hook_k", keyAxes()), flow_.groups);
        flow_.v = byHead(projected("V", flow_.groups, "hook_v", keyAxes()), flow_.groups);
        flow_.projectAgain = [this](const char* letter) {
            const bool isQuery = *letter == 'Q';
            const int64_t heads = isQuery ? flow_.heads : flow_.groups;
            const std::string name = isQuery ? "hook_q_global" : *letter == 'K' ? "hook_k_global" : "hook_v_global";
            return byHead(
                projected(fmt::format("{}_global", letter).c_str(), heads, name.c_str(), isQuery ? "THD" : keyAxes()),
                heads);
        };
        flow_.otherProjection = [this](const char* letter) {
            const int64_t heads = *letter == 'Q' ? flow_.heads : flow_.groups, D = flow_.width;
            const Tensor rows = *letter != 'Q' && site_.keyInput ? site_.keyInput : input_;
            const int64_t C = rows.shape()[1];
            const std::string name = fmt::format("{}_global", letter);
            Projection by{.rows = reshape(rows, {flow_.batch, 1, rows.shape()[0] / flow_.batch, C}),
                          .weight = reshape(graph_.parameter(weight("W_" + name), {heads * D, C}), {heads, D, C})};
            if (layer_.queryKeyValueBias)
                by.bias = reshape(graph_.parameter(weight("b_" + name), {heads * D}), {heads, 1, D});
            return by;
        };
        for (const char* hook : {"hook_q_global", "hook_k_global", "hook_v_global"})
            if (graph_.isChanged(name(hook))) flow_.mayFuse = false; // the kernel need not compute them
        if (part(Slot::Memory).stopsStates && !flow_.isStep()) {
            const Tensor states = stopLearning(input_);
            flow_.rememberedKeys = sharesKeys ? byHead(project("Q", flow_.heads, states), flow_.heads)
                                              : byHead(project("K", flow_.groups, states), flow_.groups);
            flow_.rememberedValues = byHead(project("V", flow_.groups, states), flow_.groups);
        }
        setMasks();
        if (graph_.isChanged(name("hook_pattern")))
            flow_.changePattern = [this](Tensor pattern) {
                return reshape(probeCells(pattern, "hook_pattern"),
                               {flow_.batch, flow_.heads, flow_.queries, flow_.keys});
            };
    }

    /// What single sequences hide beside the mask.
    void setMasks() {
        if (site_.groups && site_.groups->visible) {
            const int64_t each = site_.groups->length;
            const Shape cells{1, site_.groups->groups, each * each};
            flow_.sequenceMask =
                reshape(broadcast(reshape(site_.groups->visible, cells), {sequences_, cells[1], cells[2]}),
                        {flow_.batch, 1, each, each});
        }
        if (site_.reach != 0) hidePadding();
        if (site_.queryRank) {
            const int64_t B = flow_.batch, T = flow_.queries, S = flow_.keys;
            const Tensor above = binary(reshape(site_.queryRank, {B, 1, T, 1}), reshape(site_.keyRank, {B, 1, 1, S}),
                                        Binary::Less),
                         seen = affine(above, -1, 1);
            flow_.sequenceMask = flow_.sequenceMask ? times(flow_.sequenceMask, seen) : seen;
        }
    }

    /// Hides padding, which lies before every position, in the scores, or makes it zeros for what forms none.
    void hidePadding() {
        if (coreOf(layer_.spec).mix.masks == MaskSupport::CausalOnly) return; // padding follows what it must not change
        const Tensor exists = binary(fill(graph_, {1}, -1), toReal(site_.keyPosition), Binary::Less);
        const int64_t B = flow_.batch, T = flow_.queries, S = flow_.keys;
        if (!coreOf(layer_.spec).mix.ignoresZeroRows) {
            flow_.sequenceMask = broadcast(reshape(exists, {B, 1, 1, S}), {B, 1, T, S});
            return;
        }
        for (Tensor* rows : {&flow_.q, &flow_.k, &flow_.v})
            if (*rows) *rows = times(*rows, broadcast(reshape(exists, {B, 1, S, 1}), rows->shape()));
    }

    /// @param cells [B,H,T,S], or null
    Tensor probeCells(Tensor cells, const char* hook) {
        if (!cells) return cells;
        const bool isOne = flow_.batch == 1 && !site_.groups;
        return graph_.probe(isOne ? reshape(cells, {flow_.heads, flow_.queries, cells.shape()[-1]}) : cells, name(hook),
                            isOne ? "HTS" : "BHTS");
    }

    /// Offers q and k as the scores use them. @param q, k as projected
    void probeChanged(Tensor q, Tensor k) {
        const int64_t B = flow_.batch, H = flow_.heads, G = flow_.groups, T = flow_.queries, D = flow_.width;
        if (flow_.q == q && (G != H || flow_.k == k)) return;
        const Tensor own = flow_.newKeys ? flow_.newKeys : flow_.k;
        const int64_t copies = own.shape()[1] / G; // the heads of a group share their keys
        graph_.probe(byToken(flow_.q), name("hook_rot_q"), "THD");
        graph_.probe(byToken(reshape(slice(reshape(own, {B * G, copies, T, D}), 1, 0, 1), {B, G, T, D})),
                     name("hook_rot_k"), "TGD");
    }

    /// @return [rows,H,D]
    Tensor byParts() {
        const int64_t B = flow_.batch, H = flow_.heads, T = flow_.queries;
        setInputs();
        std::optional<StepMemory> memory;
        if (flow_.isStep()) memory.emplace(site_, flow_);
        const Tensor q = flow_.q, k = flow_.k;
        buildAttention(flow_);
        probeChanged(q, k);
        if (flow_.factors && B == 1) { // for views of a part of the pattern
            const int64_t F = flow_.factors->queries.shape()[-1];
            graph_.probe(reshape(flow_.factors->queries, {H, T, F}), name("hook_pattern_queries"), "HTF");
            graph_.probe(reshape(broadcast(flow_.factors->keys, {1, H, T, F}), {H, T, F}), name("hook_pattern_keys"),
                         "HSF");
        }
        for (const auto& [term, cells] : flow_.terms)
            probeCells(broadcast(cells, {B, H, T, flow_.keys}), scoreTermHook(term).c_str());
        for (const auto& [shown, tensor] : flow_.shown) // [B,H,T]
            for (const auto& [numbers, hook] :
                 {std::pair("spans", "hook_span"), std::pair("predicted_position", "hook_predicted_position")})
                if (shown == numbers && B == 1)
                    graph_.probe(permute(reshape(tensor, {H, T}), {1, 0}), name(hook), "TH");
        probeCells(flow_.scores, "hook_attn_scores");
        if (!flow_.changePattern) probeCells(flow_.pattern, "hook_pattern");
        return byToken(times(flow_.z, reshape(gates(), {H, 1, 1})));
    }

    const LayerAttention& layer_;
    const AttentionSite& site_;
    PartTensors& needs_;
    Graph& graph_;
    const int64_t sequences_;
    const Tensor input_; ///< in the order of the groups
    AttentionFlow flow_;
};

} // namespace

std::string scoreTermHook(std::string_view term) {
    std::string hook = "hook_" + std::string(term);
    std::ranges::replace(hook, '.', '_');
    return hook;
}

std::vector<const FlowConstant*> usedConstants(const Plan& plan, const PartTensors& needs) {
    std::vector<const FlowConstant*> used;
    for (const FlowConstant& constant : needs.constants)
        if (std::ranges::find(plan.tensors, constant.name, &PlannedTensor::name) != plan.tensors.end() &&
            std::ranges::find(used, constant.name, [](const FlowConstant* of) { return of->name; }) == used.end())
            used.push_back(&constant);
    return used;
}

std::vector<std::pair<std::string, Tensor>> holdKeys(const LayerAttention& layer, const AttentionSite& site) {
    Graph& graph = *site.keyInput.graph;
    const int64_t S = site.keyInput.shape()[0], G = layer.heads().groups;
    std::vector<std::pair<std::string, Tensor>> updates;
    for (const auto& [letter, hook] : {std::pair{"K", ".hook_k"}, std::pair{"V", ".hook_v"}}) {
        const Tensor rows =
            graph.probe(reshape(projection(layer, site, letter, G, site.keyInput), {S, G, layer.headWidth}),
                        site.prefix + hook, "SGD");
        const Tensor state = heldState(graph, layer, site, letter);
        updates.emplace_back(graph.node(state.node).name, assign(state, rows, StepScalar::Beginning));
    }
    return updates;
}

AttentionNodes siteAttention(const LayerAttention& layer, const AttentionSite& site, int64_t index,
                             PartTensors& needs) {
    return SiteBuilder(layer, site, index, needs).build();
}

Tensor attentionInputs(const LayerAttention& layer, const AttentionSite& site, int64_t index, PartTensors& needs) {
    const int64_t rows = site.input.shape()[0], C = site.input.shape()[1];
    const int64_t sequences = sequencesOf(site);
    AttentionFlow flow = flowFor(layer, site, index, sequences, rows / sequences);
    const Tensor before = flow.stream = reshape(site.input, {flow.batch, flow.queries, C});
    buildStage(flow, Stage::Inputs);
    collect(flow, needs);
    if (flow.stream == before) return site.input; // positions that only the first layer adds
    return reshape(flow.stream, {rows, C});
}

SublayerNodes joinStream(Tensor x, Tensor weight, std::optional<Tensor> bias, Tensor scale, Tensor residual,
                         const std::string& probe) {
    const Tensor product = matmul(x, weight, {.bias = bias});
    const Tensor added = x.graph->probe(scale ? binary(product, scale, Binary::Multiply) : product, probe, "TC");
    if (!residual) return {added, {}};
    // Without a scale the sum is the product's own last step.
    return {added, scale || x.graph->isChanged(probe) ? add(residual, added)
                                                      : matmul(x, weight, {.bias = bias, .residual = residual})};
}

} // namespace attn
