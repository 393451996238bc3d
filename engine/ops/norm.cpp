#include "engine/host/pool.h"
#include "engine/host/rows.h"
#include "engine/ops/definitions.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

#include <cmath>

namespace attn {
namespace {

// layer_norm and rms_norm: x, w, optional b -> y, statistics [...,4] (mean, 1 / deviation, 0, 0)
// -----------------------

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    require(inputs.size() == 2 || inputs.size() == 3, "norm", "needs x, w and optionally b");
    for (size_t i = 1; i < inputs.size(); ++i)
        require(inputs[i].shape == Shape{inputs[0].shape.columns()}, "norm",
                fmt::format("parameter {} must be [{}]", inputs[i].shape.text(), inputs[0].shape.columns()));
    std::vector<int64_t> extents = inputs[0].shape.extents();
    extents.back() = 4;
    return {inputs[0], {.shape = Shape(extents), .liveRows = inputs[0].liveRows}};
}

void reference(const ReferenceCall& call) {
    const bool centres = call.inputs.size() == 3;
    const ReferenceTensor& x = call.inputs[0];
    const double count = static_cast<double>(x.columns());
    for (int64_t row = 0; row < x.rows(); ++row) {
        double mean = 0, square = 0;
        for (int64_t c = 0; c < x.columns(); ++c) mean += centres ? x.row(row)[c] / count : 0;
        for (int64_t c = 0; c < x.columns(); ++c) square += (x.row(row)[c] - mean) * (x.row(row)[c] - mean) / count;
        const double factor = 1 / std::sqrt(square + call.attributes.number("epsilon"));
        for (int64_t c = 0; c < x.columns(); ++c)
            call.outputs[0].row(row)[c] =
                (x.row(row)[c] - mean) * factor * call.inputs[1].data[c] + (centres ? call.inputs[2].data[c] : 0);
        call.outputs[1].row(row)[0] = mean;
        call.outputs[1].row(row)[1] = factor;
    }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    const bool centres = types.inputs.size() == 3;
    const TensorType& out = types.outputs[0];
    const uint32_t rowsPerGroup = out.shape.rows() == 1 ? 1 : 4; // idle subgroups cost time on software Vulkan
    return {{.shader = "ops/norm",
             .bindings = {load4(0), load4(1), load4(centres ? 2 : 1), writeOutput(0), writeOutput(1)},
             .push = {u32(out.shape.rows()), u32(out.shape.columns()), u32(unitOf(out.shape) / out.shape.rowStride()),
                      liveSlot(out), pushFloat(types.attributes.number("epsilon"))},
             .specialisation = {traits.subgroupSize, rowsPerGroup, centres ? 1u : 0u},
             .x = GridAxis::fixed(u32((out.shape.rows() + rowsPerGroup - 1) / rowsPerGroup))}};
}

HostKernel hostKernel(const OpTypes& types) {
    const bool centres = types.inputs.size() == 3;
    const auto epsilon = static_cast<float>(types.attributes.number("epsilon"));
    return [=, out = types.outputs[0]](const HostRun& run) {
        const int64_t stride = out.shape.rowStride();
        run.pool.ranges(liveRowsOf(out, run.step), rowsForThread(out.shape), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row)
                host::norm(out.shape.columns(), epsilon, run.inputs[0] + row * stride, run.inputs[1],
                           centres ? run.inputs[2] : nullptr, run.outputs[0] + row * stride, run.outputs[1] + row * 4);
        });
    };
}

/// Operations per element: the mean (1), the squared deviations (3), the result (2), w and b (2). The root mean square
/// has no mean and no b.
double operations(const OpTypes& types) {
    return (types.inputs.size() == 3 ? 8 : 4) * static_cast<double>(types.outputs[0].shape.elements());
}

std::vector<Tensor> gradientNorm(const GradientCall& call) {
    const bool centres = call.inputs.size() == 3;
    const Tensor x = call.inputs[0], statistics = call.outputs[1], dy = call.outputGradients[0];
    const Tensor dx = call.graph.add(kNormGradient, {x, call.inputs[1], statistics, dy},
                                     {{"centres", centres ? 1 : 0}, {"residual", 0}});
    const Tensor dWeight = call.graph.add(kNormWeightGradient, {x, statistics, dy});
    std::vector<Tensor> result{dx, dWeight};
    if (centres) result.push_back({dWeight.graph, dWeight.node, 1});
    return result;
}

// norm_gradient: x, w, statistics, dy, optionally a residual -> dx ----------------------------------------------------

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, attributes.flag("residual") ? 5 : 4, "norm_gradient");
    requireWhole(inputs, "norm_gradient");
    return {inputs[0]};
}

void referenceGradient(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &w = call.inputs[1], &dy = call.inputs[3];
    const bool centres = call.attributes.flag("centres"), hasResidual = call.attributes.flag("residual");
    const auto count = static_cast<double>(x.columns());
    for (int64_t row = 0; row < x.rows(); ++row) {
        const double mean = call.inputs[2].row(row)[0], factor = call.inputs[2].row(row)[1];
        double meanGradient = 0, meanProduct = 0;
        for (int64_t c = 0; c < x.columns(); ++c) {
            const double g = dy.row(row)[c] * w.data[c];
            meanGradient += centres ? g / count : 0;
            meanProduct += g * (x.row(row)[c] - mean) * factor / count;
        }
        for (int64_t c = 0; c < x.columns(); ++c)
            call.outputs[0].row(row)[c] =
                factor * (dy.row(row)[c] * w.data[c] - meanGradient - (x.row(row)[c] - mean) * factor * meanProduct) +
                (hasResidual ? call.inputs[4].row(row)[c] : 0);
    }
}

std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits& traits) {
    const Shape& x = types.inputs[0].shape;
    const bool hasResidual = types.attributes.flag("residual");
    constexpr uint32_t kRowsPerGroup = 4;
    return {{.shader = "ops/norm_gradient",
             .bindings = {load4(0), load4(1), load4(2), load4(3), load4(hasResidual ? 4 : 0), writeOutput(0)},
             .push = {u32(x.rows()), u32(x.columns()), hasResidual ? 1u : 0u},
             .specialisation = {traits.subgroupSize, kRowsPerGroup, types.attributes.flag("centres") ? 1u : 0u},
             .x = groupsOf(x.rows(), kRowsPerGroup)}};
}

HostKernel hostGradient(const OpTypes& types) {
    const bool centres = types.attributes.flag("centres"), hasResidual = types.attributes.flag("residual");
    return [=, x = types.inputs[0].shape](const HostRun& run) {
        run.pool.ranges(x.rows(), rowsForThread(x), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t at = row * x.rowStride();
                host::normGradient(x.columns(), centres, run.inputs[0] + at, run.inputs[1], run.inputs[2] + row * 4,
                                   run.inputs[3] + at, hasResidual ? run.inputs[4] + at : nullptr, run.outputs[0] + at);
            }
        });
    };
}

// norm_weight_gradient: x, statistics, dy -> dw, db -------------------------------------------------------------------

std::vector<TensorType> inferWeightGradient(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 3, "norm_weight_gradient");
    requireWhole(inputs, "norm_weight_gradient");
    const TensorType out{.shape = {inputs[0].shape.columns()}};
    return {out, out};
}

void referenceWeightGradient(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &statistics = call.inputs[1], &dy = call.inputs[2];
    for (int64_t row = 0; row < x.rows(); ++row)
        for (int64_t c = 0; c < x.columns(); ++c) {
            call.outputs[0].data[c] +=
                dy.row(row)[c] * (x.row(row)[c] - statistics.row(row)[0]) * statistics.row(row)[1];
            call.outputs[1].data[c] += dy.row(row)[c];
        }
}

std::vector<Dispatch> dispatchWeightGradient(const OpTypes& types, const KernelTraits& traits) {
    const Shape& x = types.inputs[0].shape;
    const uint32_t stretches = traits.prefersSubgroupTiles ? 1 : 32; // of rows, side by side on a real GPU
    return {{.shader = "ops/norm_weight_gradient",
             .bindings = {load4(0), load4(1), load4(2), writeOutput(0), writeOutput(1)},
             .push = {u32(x.rows()), u32(x.columns())},
             .specialisation = {8, stretches},
             .x = groupsOf(x.rowStride() / 4, 8)}};
}

HostKernel hostWeightGradient(const OpTypes& types) {
    return [x = types.inputs[0].shape](const HostRun& run) {
        run.pool.ranges(x.rowStride(), 16, 16, [&](int64_t begin, int64_t end) {
            host::normWeightGradient(x.rows(), x.rowStride(), begin, end, run.inputs[0], run.inputs[1], run.inputs[2],
                                     run.outputs[0], run.outputs[1]);
        });
    };
}

} // namespace

const Op kLayerNorm{.name = "layer_norm",
                    .infer = infer,
                    .reference = reference,
                    .dispatch = dispatch,
                    .host = hostKernel,
                    .gradient = gradientNorm,
                    .operations = operations};
const Op kRmsNorm{.name = "rms_norm",
                  .infer = infer,
                  .reference = reference,
                  .dispatch = dispatch,
                  .host = hostKernel,
                  .gradient = gradientNorm,
                  .operations = operations};
const Op kNormGradient{.name = "norm_gradient",
                       .infer = inferGradient,
                       .reference = referenceGradient,
                       .dispatch = dispatchGradient,
                       .host = hostGradient,
                       .takesResidual = true};
const Op kNormWeightGradient{.name = "norm_weight_gradient",
                             .infer = inferWeightGradient,
                             .reference = referenceWeightGradient,
                             .dispatch = dispatchWeightGradient,
                             .host = hostWeightGradient};

Tensor layerNorm(Tensor x, Tensor w, Tensor b, double epsilon) {
    return x.graph->add(kLayerNorm, {x, w, b}, {{"epsilon", epsilon}});
}
Tensor rmsNorm(Tensor x, Tensor w, double epsilon) { return x.graph->add(kRmsNorm, {x, w}, {{"epsilon", epsilon}}); }

} // namespace attn
