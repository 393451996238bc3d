#include "engine/ops/paged_attention.h"

#include "engine/host/paged_attention.h"
#include "engine/ops/attention_reference.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"

#include <algorithm>
#include <array>
#include <vector>

namespace attn {
namespace {

// pagedAttention: q, k, v, queryPosition, keyPosition, gates, sequence, pages, lengths -> z ---------------------------

enum Place : size_t { kQ, kK, kV, kQueryPosition, kKeyPosition, kGates, kSequence, kPages, kLengths, kCount };

std::vector<TensorType> inferPaged(std::span<const TensorType> inputs, const Attributes&) {
    constexpr std::string_view kName = "paged_attention";
    requireInputs(inputs, kCount, kName);
    const std::array<TensorType, 4> main{inputs[kQ], inputs[kK], inputs[kQueryPosition], inputs[kKeyPosition]};
    requireAttention(main, kName);
    const Shape &q = inputs[kQ].shape, &k = inputs[kK].shape, &pages = inputs[kPages].shape;
    require(inputs[kV].shape == k, kName, fmt::format("k {} and v {} differ", k.text(), inputs[kV].shape.text()));
    require(inputs[kGates].shape == Shape{q[1]}, kName, "gates must be [H]");
    require(k[0] % kPageRows == 0, kName, fmt::format("k {} has no whole pages of {} rows", k.text(), kPageRows));
    require(pages.rank() == 2 && inputs[kSequence].shape == Shape{q[0]} && inputs[kLengths].shape == Shape{pages[0]},
            kName,
            fmt::format("sequences {}, pages {} and lengths {} must be [{}], [B,N] and [B]",
                        inputs[kSequence].shape.text(), pages.text(), inputs[kLengths].shape.text(), q[0]));
    for (const Place place : {kSequence, kPages, kLengths})
        require(inputs[place].dtype == DType::I32, kName, "sequences, pages and lengths must be whole numbers");
    return {inputs[kQ]};
}

/// The rows of the cache that a row of queries may see, in order.
std::vector<int64_t> rowsOf(const ReferenceCall& call, int64_t t) {
    const ReferenceTensor& pages = call.inputs[kPages];
    const auto own = static_cast<int64_t>(call.inputs[kSequence].data[t]);
    const auto length = std::min(static_cast<int64_t>(call.inputs[kLengths].data[own]), pages.columns() * kPageRows);
    std::vector<int64_t> rows;
    for (int64_t s = 0; s < length; ++s)
        rows.push_back(static_cast<int64_t>(pages.row(own)[s / kPageRows]) * kPageRows + s % kPageRows);
    return rows;
}

void referencePaged(const ReferenceCall& call) {
    const ReferenceTensor &q = call.inputs[kQ], &k = call.inputs[kK], &v = call.inputs[kV], &z = call.outputs[0];
    const auto slot = static_cast<size_t>(call.attributes.integer("liveRows"));
    const int64_t heads = q.shape[1], groups = k.shape[1],
                  live = slot == kNoLiveSlot ? q.shape[0] : std::min<int64_t>(call.step.words[slot], q.shape[0]);
    for (int64_t t = 0; t < live; ++t) {
        const std::vector<int64_t> rows = rowsOf(call, t);
        for (int64_t head = 0; head < heads; ++head) {
            const std::vector<double> all =
                referenceScores(call, q, k, call.inputs[kQueryPosition], call.inputs[kKeyPosition], t, head);
            std::vector<double> scores;
            for (const int64_t s : rows) scores.push_back(all[static_cast<size_t>(s)]);
            const RowStatistics row = statisticsOf(scores);
            for (size_t i = 0; i < rows.size(); ++i) {
                const double weight = probabilityOf(scores[i], row) * call.inputs[kGates].data[head];
                for (int64_t d = 0; d < q.columns(); ++d)
                    z.row(t * heads + head)[d] += weight * v.row(rows[i] * groups + head / (heads / groups))[d];
            }
        }
    }
}

std::vector<Dispatch> dispatchPaged(const OpTypes& types, const KernelTraits&) {
    const Shape &q = types.inputs[kQ].shape, &k = types.inputs[kK].shape, &pages = types.inputs[kPages].shape;
    const AttentionRule rule = ruleOf(types.attributes);
    return {
        {.shader = "attention/paged",
         .bindings = {load4(kQ), load4(kK), load4(kV), readInput(kQueryPosition), readInput(kKeyPosition),
                      readInput(kGates), readInput(kSequence), readInput(kPages), readInput(kLengths), writeOutput(0)},
         .push = {u32(q[0]), u32(k[0]), u32(q[1]), u32(k[1]), u32(q.rowStride() / 4), pushFloat(rule.scale),
                  u32(rule.window), rule.causal ? 1u : 0u, liveSlot(types.inputs[kQ]), u32(kPageRows), u32(pages[1]),
                  u32(pages.rowStride())},
         .x = GridAxis::fixed(u32(q[1])),
         .y = GridAxis::fixed(u32(q[0])),
         .z = groupsOf(q.rowStride() / 4, 64)}};
}

HostKernel hostPaged(const OpTypes& types) {
    return [q = types.inputs[kQ], k = types.inputs[kK].shape, pages = types.inputs[kPages].shape,
            rule = ruleOf(types.attributes)](const HostRun& run) {
        host::pagedAttention({.rows = {.T = liveRowsOf(q, run.step) / q.shape[1],
                                       .S = k[0],
                                       .capacity = q.shape[0],
                                       .H = q.shape[1],
                                       .G = k[1],
                                       .D = q.shape[2],
                                       .stride = q.shape.rowStride(),
                                       .scale = static_cast<float>(rule.scale),
                                       .causal = rule.causal,
                                       .window = rule.window,
                                       .q = run.inputs[kQ],
                                       .k = run.inputs[kK],
                                       .v = run.inputs[kV],
                                       .queryPosition = run.integers(kQueryPosition),
                                       .keyPosition = run.integers(kKeyPosition),
                                       .gates = run.inputs[kGates]},
                              .pageRows = kPageRows,
                              .mostPages = pages[1],
                              .pageStride = pages.rowStride(),
                              .sequence = run.integers(kSequence),
                              .pages = run.integers(kPages),
                              .lengths = run.integers(kLengths)},
                             run.outputs[0], run.pool);
    };
}

/// Of all keys that a row can have, hidden ones too.
double operationsPaged(const OpTypes& types) {
    const Shape& q = types.inputs[kQ].shape;
    return static_cast<double>(q.rows() * types.inputs[kPages].shape[1] * kPageRows) *
           (4 * static_cast<double>(q.columns()) + kScaleOperations + kSoftmaxOperations);
}

// assignRows: state, value, rows -------------------------------------------------------------------------------------

std::vector<TensorType> inferAssignRows(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 3, "assign_rows");
    const Shape &state = inputs[0].shape, &value = inputs[1].shape;
    require(state.rank() == value.rank() && inputs[0].dtype == inputs[1].dtype && unitOf(state) == unitOf(value) &&
                inputs[2].dtype == DType::I32 && inputs[2].shape == Shape{value[0]},
            "assign_rows",
            fmt::format("{} cannot go to the rows {} of {}", value.text(), inputs[2].shape.text(), state.text()));
    return {inputs[0]};
}

int aliasAssignRows(const OpTypes&, uint32_t) { return 0; }

void referenceAssignRows(const ReferenceCall& call) {
    const ReferenceTensor &value = call.inputs[1], &state = call.outputs[0];
    const int64_t unit = unitOf(value.shape);
    const auto slot = static_cast<size_t>(call.attributes.integer("liveRows"));
    for (int64_t t = 0; t < value.shape[0]; ++t) {
        const auto row = static_cast<int64_t>(call.inputs[2].data[t]);
        if ((slot != kNoLiveSlot && t >= call.step.words[slot]) || row < 0 || row >= state.shape[0]) continue;
        std::copy_n(value.data + t * unit, unit, state.data + row * unit);
    }
}

std::vector<Dispatch> dispatchAssignRows(const OpTypes& types, const KernelTraits&) {
    const TensorType& value = types.inputs[1];
    const int64_t unit = unitOf(value.shape), total = value.shape[0] * unit;
    return {{.shader = "ops/assign_rows",
             .bindings = {readInput(1), readInput(2), writeOutput(0)},
             .push = {u32(value.shape[0]), u32(unit), u32(types.inputs[0].shape[0]), liveSlot(value)},
             .x = FlatGrid(total).x,
             .y = FlatGrid(total).y}};
}

HostKernel hostAssignRows(const OpTypes& types) {
    return [state = types.inputs[0].shape, value = types.inputs[1]](const HostRun& run) {
        const int64_t unit = unitOf(value.shape),
                      live = value.liveRows ? std::min<int64_t>(run.step[*value.liveRows], value.shape[0])
                                            : value.shape[0];
        run.pool.ranges(live, kVectorsForThread * 4 / std::max<int64_t>(unit, 1) + 1, 1,
                        [&](int64_t begin, int64_t end) {
                            for (int64_t t = begin; t < end; ++t)
                                if (const int64_t row = run.integers(2)[t]; row >= 0 && row < state[0])
                                    std::copy_n(run.inputs[1] + t * unit, unit, run.outputs[0] + row * unit);
                        });
    };
}

} // namespace

const Op kPagedAttention{.name = "paged_attention",
                         .infer = inferPaged,
                         .reference = referencePaged,
                         .dispatch = dispatchPaged,
                         .host = hostPaged,
                         .operations = operationsPaged};
const Op kAssignRows{.name = "assign_rows",
                     .infer = inferAssignRows,
                     .reference = referenceAssignRows,
                     .dispatch = dispatchAssignRows,
                     .host = hostAssignRows,
                     .aliasOf = aliasAssignRows,
                     .writesInPlace = true,
                     .operations = noOperations};

Tensor pagedAttention(const AttentionInputs& inputs, const PagedSequences& sequences, Tensor gates,
                      const AttentionRule& rule) {
    Attributes attributes = ruleAttributes(rule, inputs);
    attributes.set("liveRows", liveSlot(inputs.q.type()));
    return inputs.q.graph->add(kPagedAttention,
                               {inputs.q, inputs.k, inputs.v, inputs.queryPosition, inputs.keyPosition, gates,
                                sequences.sequence, sequences.pages, sequences.lengths},
                               attributes);
}

Tensor assignRows(Tensor state, Tensor value, Tensor rows) {
    return state.graph->add(kAssignRows, {state, value, rows},
                            {{"liveRows", static_cast<double>(liveSlot(value.type()))}});
}

} // namespace attn
