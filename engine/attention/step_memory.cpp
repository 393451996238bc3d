#include "engine/attention/step_memory.h"

#include "engine/attention/execution.h"
#include "engine/attention/terms.h"

namespace attn {

using namespace terms;

StateKind stateKind(std::string_view name) {
    if (name.find(".state_") != name.npos) return StateKind::Running;
    return name.find(".held_") != name.npos ? StateKind::Source : StateKind::Rows;
}

PagedSequences pagedSequences(Tensor rows, int64_t keys) {
    Graph& graph = *rows.graph;
    const int64_t T = rows.shape()[0];
    const auto integers = [&](const char* name, Shape shape, std::optional<StepScalar> live) {
        return graph.input(name, {.shape = std::move(shape), .dtype = DType::I32, .liveRows = live});
    };
    return {.sequence = integers(paged_inputs::kSequences, {T}, rows.type().liveRows),
            .pages = integers(paged_inputs::kPages, {T, keys / kPageRows}, {}), // a sequence for each row at most
            .lengths = integers(paged_inputs::kLengths, {T}, {})};
}

Tensor keptInPages(const std::string& name, int64_t capacity, Tensor rows,
                   std::vector<std::pair<std::string, Tensor>>& updates) {
    Graph& graph = *rows.graph;
    std::vector<int64_t> extents = rows.shape().extents();
    extents.front() = capacity;
    const Tensor places = graph.input(
        paged_inputs::kRows, {.shape = {rows.shape()[0]}, .dtype = DType::I32, .liveRows = rows.type().liveRows});
    const Tensor kept =
        assignRows(graph.state(name, {.shape = Shape(extents), .dtype = rows.type().dtype}), rows, places);
    updates.emplace_back(name, kept);
    return kept;
}

Tensor cached(const AttentionSite& site, const char* letter, Tensor rows, std::optional<StepScalar> live,
              std::vector<std::pair<std::string, Tensor>>& updates) {
    if (isPaged(site)) return keptInPages(site.prefix + ".paged_" + letter, site.cacheCapacity, rows, updates);
    const std::string name = site.prefix + ".cache_" + letter;
    const Tensor state =
        rows.graph->state(name, {.shape = {site.cacheCapacity, rows.shape()[1], rows.shape()[2]}, .liveRows = live});
    const Tensor updated = assign(state, rows, StepScalar::CacheOffset);
    updates.emplace_back(name, updated);
    return updated;
}

Tensor byToken(Tensor x) {
    const Shape shape = x.shape();
    return reshape(permute(x, {0, 2, 1, 3}), {shape[0] * shape[2], shape[1], shape[3]});
}

StepMemory::StepMemory(const AttentionSite& site, AttentionFlow& flow) : site_(site), flow_(flow) {
    const StepExecution how = stepExecution(flow.spec, flow.context, flow.width, static_cast<int>(flow.layer));
    const bool isChanged = flow.graph.isChanged(site.prefix + ".hook_pattern");
    if (how.kind == StepKind::State && !isChanged && !site.recordsQueries) return;
    flow.remember = [this](const char* letter, Tensor rows) { return keys(letter, rows); };
    if (how.rule) flow.cachedAttention = [this, rule = *how.rule](Tensor bias) { return attention(rule, bias); };
    // Gathering the keys by heads costs more than the products, unless few of them are read.
    if (2 * site.keys <= site.cacheCapacity) return;
    flow.cachedProducts = [this] { return products(); };
    flow.cachedMix = [this](Tensor weights) { return mix(weights); };
}

/// @param rows [1,G,T,N]  @return those of the keys that the step reads, [1,G,S,N]
Tensor StepMemory::keys(const char* letter, Tensor rows) {
    const int64_t S = site_.keys, G = rows.shape()[1], N = rows.shape()[3];
    const Tensor all = cached(site_, letter, byToken(rows), {}, flow_.updates);
    if (const std::string_view which = letter; which == "k" || which == "v") (which == "k" ? keys_ : values_) = all;
    return permute(reshape(slice(all, 0, 0, S), {1, S, G, N}), {0, 2, 1, 3});
}

Tensor StepMemory::products() {
    const int64_t H = flow_.heads, T = flow_.queries, L = site_.cacheCapacity;
    const Tensor dots = attentionScores(inputs(), {}); // [H,T,L]
    return slice(reshape(dots, {1, H, T, L}), 3, 0, site_.keys);
}

Tensor StepMemory::attention(const AttentionRule& rule, Tensor bias) {
    const int64_t H = flow_.heads, T = flow_.queries, D = flow_.width;
    AttentionInputs all = inputs();
    all.bias = bias;
    const Tensor z = fusedAttention(all, fill(flow_.graph, {H}, 1), rule);
    return permute(reshape(z, {1, T, H, D}), {0, 2, 1, 3});
}

AttentionInputs StepMemory::inputs() const {
    return {.q = byToken(flow_.q),
            .k = keys_,
            .v = values_,
            .queryPosition = site_.queryPosition,
            .keyPosition = site_.keyPosition};
}

Tensor StepMemory::mix(Tensor weights) {
    const int64_t H = flow_.heads, T = flow_.queries, L = site_.cacheCapacity, D = flow_.width;
    const Tensor all = reshape(pad(weights, 3, 0, L - site_.keys), {H, T, L});
    return permute(reshape(attentionMix(all, values_, byToken(flow_.q)), {1, T, H, D}), {0, 2, 1, 3});
}

} // namespace attn
