#include "engine/host/order.h"
#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

#include <algorithm>
#include <numeric>

namespace attn {
namespace {

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "top_k");
    const Shape& x = inputs[0].shape;
    const int64_t k = attributes.integer("k");
    require(x.rank() == 2 && k >= 1 && k <= x[1], "top_k",
            fmt::format("k = {} must be in 1..{} for {}", k, x.columns(), x.text()));
    return {{.shape = {x[0], k}, .dtype = DType::F32, .liveRows = inputs[0].liveRows},
            {.shape = {x[0], k}, .dtype = DType::I32, .liveRows = inputs[0].liveRows}};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.inputs[0];
    std::vector<int64_t> order(static_cast<size_t>(x.columns()));
    for (int64_t row = 0; row < x.rows(); ++row) {
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [&](int64_t a, int64_t b) { return x.row(row)[a] > x.row(row)[b]; });
        for (int64_t i = 0; i < call.outputs[0].columns(); ++i) {
            call.outputs[0].row(row)[i] = x.row(row)[order[static_cast<size_t>(i)]];
            call.outputs[1].row(row)[i] = static_cast<double>(order[static_cast<size_t>(i)]);
        }
    }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const Shape &x = types.inputs[0].shape, &out = types.outputs[0].shape;
    return {{.shader = "ops/top_k",
             .bindings = {readInput(0), writeOutput(0), writeOutput(1)},
             .push = {u32(x.rows()), u32(x.columns()), u32(x.rowStride()), u32(out.columns()), u32(out.rowStride()),
                      liveSlot(types.outputs[0])},
             .x = GridAxis::fixed(u32((x.rows() + 7) / 8))}};
}

HostKernel hostKernel(const OpTypes& types) {
    return [x = types.inputs[0].shape, out = types.outputs[0]](const HostRun& run) {
        const int64_t k = out.shape.columns(), stride = out.shape.rowStride();
        run.pool.ranges(liveRowsOf(out, run.step), rowsForThread(x), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                float* values = run.outputs[0] + row * stride;
                int32_t* indices = run.integerOutput(1) + row * stride;
                host::topK(x.columns(), run.inputs[0] + row * x.rowStride(), k, values, indices);
                std::fill(values + k, values + stride, 0.0f);
                std::fill(indices + k, indices + stride, 0);
            }
        });
    };
}

/// Only the chosen columns receive a gradient.
std::vector<Tensor> gradient(const GradientCall& call) {
    const Tensor d = call.outputGradients[0];
    const int64_t R = d.shape()[0], k = d.shape()[1], C = call.inputs[0].shape()[1];
    return {reshape(put(reshape(d, {R, k, 1}), {call.outputs[0].graph, call.outputs[0].node, 1}, C), {R, C})};
}

} // namespace

const Op kTopK{.name = "top_k",
               .infer = infer,
               .reference = reference,
               .dispatch = dispatch,
               .host = hostKernel,
               .gradient = gradient,
               .operations = oneForEachInput};

TopK topK(Tensor x, int64_t k) {
    const Tensor values = x.graph->add(kTopK, {x}, {{"k", static_cast<double>(k)}});
    return {values, {values.graph, values.node, 1}};
}

} // namespace attn
