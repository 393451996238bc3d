#include "engine/host/elementwise.h"
#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

#include <algorithm>
#include <numeric>

namespace attn {
namespace {

// sum ----------------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferSum(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "sum");
    requireWhole(inputs, "sum");
    return {{.shape = {1}}};
}

void referenceSum(const ReferenceCall& call) {
    for (int64_t row = 0; row < call.inputs[0].rows(); ++row)
        for (int64_t c = 0; c < call.inputs[0].columns(); ++c) call.outputs[0].data[0] += call.inputs[0].row(row)[c];
}

std::vector<Dispatch> dispatchSum(const OpTypes& types, const KernelTraits& traits) {
    return {{.shader = "ops/sum",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(types.inputs[0].shape.paddedElements() / 4)},
             .specialisation = {traits.subgroupSize, 1}}};
}

HostKernel hostSum(const OpTypes& types) {
    return [count = types.inputs[0].shape.paddedElements()](const HostRun& run) {
        std::fill_n(run.outputs[0], 4, 0.0f);
        run.outputs[0][0] = host::total(count, run.inputs[0]);
    };
}

std::vector<Tensor> gradientSum(const GradientCall& call) {
    return {expand(call.outputGradients[0], call.inputs[0].shape())};
}

// expand: nothing (a constant) or x [1] ------------------------------------------------------------------------------

std::vector<TensorType> inferExpand(std::span<const TensorType> inputs, const Attributes& attributes) {
    require(inputs.empty() || (inputs.size() == 1 && inputs[0].shape.elements() == 1), "expand", "needs one number");
    return {{.shape = shapeOf(attributes), .dtype = attributes.flag("isInteger") ? DType::I32 : DType::F32}};
}

void referenceExpand(const ReferenceCall& call) {
    const double value = (call.inputs.empty() ? 1 : call.inputs[0].data[0]) * call.attributes.number("factor");
    forEach(call.outputs[0], [&](int64_t, int64_t) { return value; });
}

std::vector<Dispatch> dispatchExpand(const OpTypes& types, const KernelTraits&) {
    const Shape& out = types.outputs[0].shape;
    const bool isConstant = types.inputs.empty();
    return {{.shader = isConstant ? "ops/fill" : "ops/expand",
             .bindings = isConstant ? std::vector{writeOutput(0)} : std::vector{readInput(0), writeOutput(0)},
             .push = {u32(out.paddedElements() / 4), u32(out.columns()), pushFloat(types.attributes.number("factor"))},
             .x = gridPerVec4(types.outputs[0]).x,
             .y = gridPerVec4(types.outputs[0]).y}};
}

HostKernel hostExpand(const OpTypes& types) {
    const auto factor = static_cast<float>(types.attributes.number("factor"));
    return [=, out = types.outputs[0].shape](const HostRun& run) {
        const float value = run.inputs.empty() ? factor : run.inputs[0][0] * factor;
        run.pool.ranges(out.rows(), rowsForThread(out), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                float* to = run.outputs[0] + row * out.rowStride();
                std::fill_n(to, out.columns(), value);
                std::fill(to + out.columns(), to + out.rowStride(), 0.0f);
            }
        });
    };
}

std::vector<Tensor> gradientExpand(const GradientCall& call) {
    if (call.inputs.empty()) return {};
    return {scale(sum(call.outputGradients[0]), call.attributes.number("factor"))};
}

} // namespace

const Op kSum{.name = "sum",
              .infer = inferSum,
              .reference = referenceSum,
              .dispatch = dispatchSum,
              .host = hostSum,
              .gradient = gradientSum,
              .operations = oneForEachInput};
const Op kExpand{.name = "expand",
                 .infer = inferExpand,
                 .reference = referenceExpand,
                 .dispatch = dispatchExpand,
                 .host = hostExpand,
                 .gradient = gradientExpand,
                 .operations = noOperations};

Tensor sum(Tensor x) {
    if (x.shape().paddedElements() <= 1 << 20) return x.graph->add(kSum, {x}); // by one subgroup
    std::vector<int> axes(static_cast<size_t>(x.shape().rank()));
    std::iota(axes.begin(), axes.end(), 0);
    return reshape(reduce(x, Reduction::Sum, axes), {1});
}

Tensor expand(Tensor x, Shape shape) {
    if (const Node& maker = x.graph->node(x.node); maker.op == &kExpand && maker.inputs.empty())
        return fill(*x.graph, shape, maker.attributes.number("factor")); // of a constant
    Attributes attributes = shapeAttributes(shape);
    attributes.set("factor", 1);
    attributes.set("isInteger", 0);
    return x.graph->add(kExpand, {x}, attributes);
}

Tensor fill(Graph& graph, Shape shape, double value, DType dtype) {
    require(dtype == DType::F32 || value == 0, "fill", "integers can only be 0");
    Attributes attributes = shapeAttributes(shape);
    attributes.set("factor", value);
    attributes.set("isInteger", dtype == DType::I32 ? 1 : 0);
    return graph.add(kExpand, {}, attributes);
}

} // namespace attn
