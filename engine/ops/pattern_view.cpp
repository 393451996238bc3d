#include "engine/host/pattern.h"
#include "engine/ops/attention_reference.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

// attentionRowStatistics: q, k, queryPosition, keyPosition, window ---------------------------------------------------

std::vector<TensorType> inferStatistics(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 5, "attention_row_statistics");
    requireAttention(inputs, "attention_row_statistics");
    return {{.shape = {inputs[0].shape[1], inputs[0].shape[0], 4}}};
}

void referenceStatistics(const ReferenceCall& call) {
    const ReferenceTensor &q = call.inputs[0], &out = call.outputs[0];
    for (int64_t head = 0; head < q.shape[1]; ++head)
        for (int64_t t = 0; t < q.shape[0]; ++t) {
            const RowStatistics row =
                statisticsOf(referenceScores(call, q, call.inputs[1], call.inputs[2], call.inputs[3], t, head));
            out.row(head * q.shape[0] + t)[0] = row.maximum;
            out.row(head * q.shape[0] + t)[1] = row.inverseSum;
        }
}

std::vector<Dispatch> dispatchStatistics(const OpTypes& types, const KernelTraits& traits) {
    const Shape& q = types.inputs[0].shape;
    const uint32_t rowsPerGroup = 4;
    return {{.shader = "attention/row_statistics",
             .bindings = {load4(0), load4(1), readInput(2), readInput(3), readInput(4), writeOutput(0)},
             .push = attentionPush(types),
             .specialisation = {traits.subgroupSize, rowsPerGroup},
             .x = GridAxis::over(types.inputs[0].liveRows, static_cast<uint64_t>(q[0]), rowsPerGroup),
             .y = GridAxis::fixed(u32(q[1]))}};
}

HostKernel hostStatistics(const OpTypes& types) {
    return [problem = HostAttention(types, false)](const HostRun& run) {
        const int32_t* window = run.integers(4);
        host::rowStatistics(problem.of(run), {window[0], window[1]}, run.outputs[0], run.pool);
    };
}

// patternTile: q, k, queryPosition, keyPosition, statistics, window ---------------------------------------------------

enum WindowField { QueryBegin, QueryEnd, KeyBegin, KeyEnd, Rows, Columns, FirstHead, Aggregate, WindowFields };

std::vector<TensorType> inferTile(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 6, "pattern_tile");
    requireAttention(inputs, "pattern_tile");
    require(inputs[5].dtype == DType::I32 && inputs[5].shape == Shape{WindowFields}, "pattern_tile",
            "the window must be I32 [8]");
    return {{.shape = {attributes.integer("heads"), attributes.integer("size"), attributes.integer("size")}}};
}

void referenceTile(const ReferenceCall& call) {
    const ReferenceTensor &q = call.inputs[0], &k = call.inputs[1], &out = call.outputs[0];
    const double* window = call.inputs[5].data;
    const auto field = [&](WindowField name) { return static_cast<int64_t>(window[name]); };
    const int64_t heads = q.shape[1], size = out.shape[1];
    const auto begin = [](int64_t pixel, int64_t pixels, int64_t from, int64_t to) {
        return from + pixel * (to - from) / pixels;
    };
    for (int64_t tile = 0; tile < out.shape[0]; ++tile)
        for (int64_t y = 0; y < std::min(size, field(Rows)); ++y)
            for (int64_t x = 0; x < std::min(size, field(Columns)); ++x) {
                double pixel = 0;
                const int64_t qEnd = begin(y + 1, field(Rows), field(QueryBegin), field(QueryEnd));
                const int64_t kEnd = begin(x + 1, field(Columns), field(KeyBegin), field(KeyEnd));
                for (int64_t t = begin(y, field(Rows), field(QueryBegin), field(QueryEnd)); t < qEnd; ++t)
                    for (int64_t s = begin(x, field(Columns), field(KeyBegin), field(KeyEnd)); s < kEnd; ++s) {
                        double cell = 0;
                        const bool aggregates = field(Aggregate) != 0;
                        for (int64_t head = aggregates ? 0 : field(FirstHead) + tile;
                             head < (aggregates ? heads : field(FirstHead) + tile + 1); ++head) {
                            const auto scores = referenceScores(call, q, k, call.inputs[2], call.inputs[3], t, head);
                            const double p = probabilityOf(scores[static_cast<size_t>(s)], statisticsOf(scores));
                            cell = field(Aggregate) == 1 ? cell + p / static_cast<double>(heads) : std::max(cell, p);
                        }
                        pixel = std::max(pixel, cell);
                    }
                out.row(tile * size + y)[x] = pixel;
            }
}

std::vector<Dispatch> dispatchTile(const OpTypes& types, const KernelTraits&) {
    const Shape& out = types.outputs[0].shape;
    std::vector<uint32_t> push = attentionPush(types);
    push.push_back(u32(out[1]));
    push.push_back(u32(out.rowStride()));
    return {{.shader = "view/pattern_tile",
             .bindings = {load4(0), load4(1), readInput(2), readInput(3), load4(4), readInput(5), writeOutput(0)},
             .push = push,
             .x = GridAxis::fixed(u32((out.rowStride() + 7) / 8)),
             .y = GridAxis::fixed(u32((out[1] + 3) / 4)),
             .z = GridAxis::fixed(u32(out[0]))}};
}

HostKernel hostTile(const OpTypes& types) {
    return [problem = HostAttention(types, false), out = types.outputs[0].shape](const HostRun& run) {
        const int32_t* window = run.integers(5);
        using Tile = host::PatternTile;
        const int32_t aggregate = window[Aggregate];
        host::patternTile(problem.of(run),
                          {.queries = {window[QueryBegin], window[QueryEnd]},
                           .keys = {window[KeyBegin], window[KeyEnd]},
                           .rows = window[Rows],
                           .columns = window[Columns],
                           .firstHead = window[FirstHead],
                           .heads = out[0],
                           .of = aggregate == 0   ? Tile::Each
                                 : aggregate == 1 ? Tile::Mean
                                                  : Tile::Most,
                           .size = out[1],
                           .stride = out.rowStride(),
                           .statistics = run.inputs[4]},
                          run.outputs[0], run.pool);
    };
}

Attributes viewAttributes(const AttentionInputs& inputs, const AttentionRule& rule, int64_t heads, int64_t size) {
    Attributes attributes = ruleAttributes(rule, inputs);
    attributes.set("heads", static_cast<double>(heads));
    attributes.set("size", static_cast<double>(size));
    return attributes;
}

} // namespace

const Op kAttentionRowStatistics{.name = "attention_row_statistics",
                                 .infer = inferStatistics,
                                 .reference = referenceStatistics,
                                 .dispatch = dispatchStatistics,
                                 .host = hostStatistics};
const Op kPatternTile{
    .name = "pattern_tile", .infer = inferTile, .reference = referenceTile, .dispatch = dispatchTile, .host = hostTile};

Tensor attentionRowStatistics(const AttentionInputs& inputs, Tensor window, const AttentionRule& rule) {
    return inputs.q.graph->add(kAttentionRowStatistics,
                               {inputs.q, inputs.k, inputs.queryPosition, inputs.keyPosition, window},
                               viewAttributes(inputs, rule, 0, 0));
}

Tensor patternTile(const AttentionInputs& inputs, Tensor statistics, Tensor window, const AttentionRule& rule,
                   int64_t heads, int64_t size) {
    return inputs.q.graph->add(kPatternTile,
                               {inputs.q, inputs.k, inputs.queryPosition, inputs.keyPosition, statistics, window},
                               viewAttributes(inputs, rule, heads, size));
}

} // namespace attn
