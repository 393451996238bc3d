#include "engine/host/compact.h"
#include "engine/host/elementwise.h"
#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

#include <algorithm>

namespace attn {
namespace {

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "embedding");
    require(inputs[0].dtype == DType::I32 && inputs[0].shape.rank() == 1 && inputs[1].shape.rank() == 2, "embedding",
            fmt::format("ids {} must be I32 [T] and the table {} must be [V,C]", inputs[0].shape.text(),
                        inputs[1].shape.text()));
    return {{.shape = {inputs[0].shape[0], inputs[1].shape[1]}, .dtype = DType::F32, .liveRows = inputs[0].liveRows}};
}

void reference(const ReferenceCall& call) {
    const auto& [ids, table] = std::tie(call.inputs[0], call.inputs[1]);
    for (int64_t t = 0; t < ids.columns(); ++t) {
        const auto id = std::clamp<int64_t>(static_cast<int64_t>(ids.data[t]), 0, table.rows() - 1);
        std::copy_n(table.row(id), table.columns(), call.outputs[0].row(t));
    }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const Shape& out = types.outputs[0].shape;
    if (const Storage storage = types.inputs[1].storage; storage != Storage::F32)
        return {{.shader = "ops/embedding_compact",
                 .bindings = {readInput(0), readInput(1), writeOutput(0)},
                 .push = {u32(out.rows()), u32(out.rowStride() / 4), u32(types.inputs[1].shape[0]),
                          liveSlot(types.outputs[0]), u32(storedRow(storage, out.columns()).bytes / 4)},
                 .specialisation = {static_cast<uint32_t>(storage)},
                 .x = gridPerVec4(types.outputs[0]).x,
                 .y = gridPerVec4(types.outputs[0]).y}};
    return {
        {.shader = "ops/embedding",
         .bindings = {readInput(0), load4(1), writeOutput(0)},
         .push = {u32(out.rows()), u32(out.rowStride() / 4), u32(types.inputs[1].shape[0]), liveSlot(types.outputs[0])},
         .x = gridPerVec4(types.outputs[0]).x,
         .y = gridPerVec4(types.outputs[0]).y}};
}

HostKernel hostEmbedding(const OpTypes& types) {
    return
        [out = types.outputs[0], table = types.inputs[1].shape, storage = types.inputs[1].storage](const HostRun& run) {
            const int64_t stride = table.rowStride();
            run.pool.ranges(liveRowsOf(out, run.step), rowsForThread(table), 1, [&](int64_t begin, int64_t end) {
                for (int64_t t = begin; t < end; ++t) {
                    const int64_t id = std::clamp<int64_t>(run.integers(0)[t], 0, table.rows() - 1);
                    if (storage == Storage::F32)
                        std::copy_n(run.inputs[1] + id * stride, stride, run.outputs[0] + t * stride);
                    else
                        host::widen(storage, table.columns(),
                                    reinterpret_cast<const std::byte*>(run.inputs[1]) +
                                        id * storedRow(storage, table.columns()).bytes,
                                    run.outputs[0] + t * stride);
                }
            });
        };
}

std::vector<Tensor> gradientEmbedding(const GradientCall& call) {
    return {{},
            call.graph.add(kEmbeddingGradient, {call.inputs[0], call.outputGradients[0]},
                           {{"vocabulary", static_cast<double>(call.inputs[1].shape()[0])}, {"residual", 0}})};
}

// embedding_gradient: ids, dy, optional residual
// ----------------------------------------------------------------------------------------

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, attributes.flag("residual") ? 3 : 2, "embedding_gradient");
    requireWhole(inputs, "embedding_gradient");
    const TensorType table{.shape = {attributes.integer("vocabulary"), inputs[1].shape.columns()}};
    require(inputs.size() == 2 || inputs[2].shape == table.shape, "embedding_gradient",
            fmt::format("the residual must be {}", table.shape.text()));
    return {table};
}

void referenceGradient(const ReferenceCall& call) {
    const ReferenceTensor &ids = call.inputs[0], &dy = call.inputs[1], &table = call.outputs[0];
    if (call.attributes.flag("residual")) std::copy_n(call.inputs[2].data, table.shape.paddedElements(), table.data);
    for (int64_t t = 0; t < ids.columns(); ++t) {
        const auto id = std::clamp<int64_t>(static_cast<int64_t>(ids.data[t]), 0, table.rows() - 1);
        for (int64_t c = 0; c < table.columns(); ++c) table.row(id)[c] += dy.row(t)[c];
    }
}

std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits& traits) {
    const Shape &dy = types.inputs[1].shape, &table = types.outputs[0].shape;
    const bool hasResidual = types.attributes.flag("residual");
    constexpr int64_t kMostRows = 131072; // the limit that software Vulkan's loops set if all have one id
    require(!traits.prefersSubgroupTiles || dy.rows() <= kMostRows, "embedding_gradient",
            fmt::format("{} rows are more than the {} that software Vulkan adds up; make the batch smaller", dy.rows(),
                        kMostRows));
    return {{.shader = "ops/embedding_gradient",
             .bindings = {readInput(0), load4(1), load4(hasResidual ? 2 : 1), writeOutput(0)},
             .push = {u32(dy.rows()), u32(table.rowStride() / 4), u32(table[0]), hasResidual ? 1u : 0u},
             .specialisation = {traits.subgroupSize, 1},
             .x = groupsOf(table[0], 1),
             .y = groupsOf(table.rowStride() / 4, traits.subgroupSize)}};
}

/// Each thread adds columns of its own, so rows with the same id are added in a fixed order.
HostKernel hostGradient(const OpTypes& types) {
    const bool hasResidual = types.attributes.flag("residual");
    return [=, table = types.outputs[0].shape, rows = types.inputs[1].shape.rows()](const HostRun& run) {
        const int64_t stride = table.rowStride();
        run.pool.ranges(stride, 16, 16, [&](int64_t begin, int64_t end) {
            float* out = run.outputs[0];
            for (int64_t id = 0; id < table.rows(); ++id) {
                if (hasResidual)
                    std::copy(run.inputs[2] + id * stride + begin, run.inputs[2] + id * stride + end,
                              out + id * stride + begin);
                else
                    std::fill(out + id * stride + begin, out + id * stride + end, 0.0f);
            }
            for (int64_t t = 0; t < rows; ++t) {
                float* row = out + std::clamp<int64_t>(run.integers(0)[t], 0, table.rows() - 1) * stride + begin;
                host::add(end - begin, row, run.inputs[1] + t * stride + begin, row);
            }
        });
    };
}

} // namespace

const Op kEmbedding{.name = "embedding",
                    .infer = infer,
                    .reference = reference,
                    .dispatch = dispatch,
                    .host = hostEmbedding,
                    .gradient = gradientEmbedding,
                    .operations = noOperations,
                    .compactInput = 1};
const Op kEmbeddingGradient{.name = "embedding_gradient",
                            .infer = inferGradient,
                            .reference = referenceGradient,
                            .dispatch = dispatchGradient,
                            .host = hostGradient,
                            .takesResidual = true};

Tensor embedding(Tensor ids, Tensor table) { return ids.graph->add(kEmbedding, {ids, table}); }

} // namespace attn
