#include "engine/ops/elementwise.h"

#include "engine/host/elementwise.h"
#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/walk.h"

#include <cmath>
#include <numbers>

namespace attn {

double activationValue(Activation activation, double x) {
    switch (activation) {
    case Activation::None:
        return x;
    case Activation::GeluErf:
        return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::GeluTanh:
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Silu:
        return x / (1 + std::exp(-x));
    case Activation::Relu:
        return x < 0 ? 0 : x;
    }
    return x;
}

double activationDerivative(Activation activation, double x) {
    switch (activation) {
    case Activation::None:
        return 1;
    case Activation::GeluErf:
        return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) +
               x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    case Activation::GeluTanh: {
        const double c = std::sqrt(2 / std::numbers::pi), t = std::tanh(c * (x + 0.044715 * x * x * x));
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
    }
    case Activation::Silu: {
        const double s = 1 / (1 + std::exp(-x));
        return s * (1 + x * (1 - s));
    }
    case Activation::Relu:
        return x > 0 ? 1 : 0;
    }
    return 1;
}

namespace {

enum class Pair : uint32_t { Add, Multiply, Swiglu };

std::vector<TensorType> inferPair(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "elementwise");
    require(inputs[0].shape == inputs[1].shape, "elementwise",
            fmt::format("shapes {} and {} differ", inputs[0].shape.text(), inputs[1].shape.text()));
    return {inputs[0]};
}

template <Pair kind> void referencePair(const ReferenceCall& call) {
    forEach(call.outputs[0], [&](int64_t row, int64_t column) {
        const double a = call.inputs[0].row(row)[column], b = call.inputs[1].row(row)[column];
        if constexpr (kind == Pair::Add) return a + b;
        if constexpr (kind == Pair::Multiply) return a * b;
        return activationValue(Activation::Silu, a) * b;
    });
}

template <Pair kind> std::vector<Dispatch> dispatchPair(const OpTypes& types, const KernelTraits&) {
    const TensorType& out = types.outputs[0];
    return {{.shader = "ops/binary",
             .bindings = {load4(0), load4(1), writeOutput(0)},
             .push = {u32(out.shape.paddedElements() / 4), u32(unitOf(out.shape) / 4), liveSlot(out)},
             .specialisation = {static_cast<uint32_t>(kind)},
             .x = repeatedGrid(out.shape.paddedElements() / 4, 64)}};
}

/// A kernel over the floats in use, which calls body(run, first, count).
template <typename Body> HostKernel overFloats(const TensorType& out, Body body) {
    return [out, body](const HostRun& run) {
        const int64_t vectors = liveRowsOf(out, run.step) * out.shape.rowStride() / 4;
        run.pool.ranges(vectors, kVectorsForThread, 4,
                        [&](int64_t begin, int64_t end) { body(run, begin * 4, (end - begin) * 4); });
    };
}

template <Pair kind> HostKernel hostPair(const OpTypes& types) {
    return overFloats(types.outputs[0], [](const HostRun& run, int64_t first, int64_t count) {
        constexpr auto kernel = kind == Pair::Add ? host::add : kind == Pair::Multiply ? host::multiply : host::swiglu;
        kernel(count, run.inputs[0] + first, run.inputs[1] + first, run.outputs[0] + first);
    });
}

HostKernel hostActivate(const OpTypes& types) {
    const auto activation = static_cast<Activation>(types.attributes.integer("activation"));
    return overFloats(types.outputs[0], [activation](const HostRun& run, int64_t first, int64_t count) {
        host::activate(activation, count, run.inputs[0] + first, run.outputs[0] + first);
    });
}

HostKernel hostActivateGradient(const OpTypes& types) {
    const auto activation = static_cast<Activation>(types.attributes.integer("activation"));
    return overFloats(types.outputs[0], [activation](const HostRun& run, int64_t first, int64_t count) {
        host::activateGradient(activation, count, run.inputs[0] + first, run.inputs[1] + first, run.outputs[0] + first);
    });
}

HostKernel hostSwigluGradient(const OpTypes& types) {
    return overFloats(types.outputs[0], [](const HostRun& run, int64_t first, int64_t count) {
        host::swigluGradient(count, run.inputs[0] + first, run.inputs[1] + first, run.inputs[2] + first,
                             run.outputs[0] + first, run.outputs[1] + first);
    });
}

HostKernel hostScale(const OpTypes& types) {
    const auto factor = static_cast<float>(types.attributes.number("factor"));
    return overFloats(types.outputs[0], [factor](const HostRun& run, int64_t first, int64_t count) {
        host::scale(count, factor, run.inputs[0] + first, run.outputs[0] + first);
    });
}

std::vector<TensorType> inferUnary(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "activate");
    return {inputs[0]};
}

void referenceUnary(const ReferenceCall& call) {
    const auto activation = static_cast<Activation>(call.attributes.integer("activation"));
    forEach(call.outputs[0],
            [&](int64_t row, int64_t column) { return activationValue(activation, call.inputs[0].row(row)[column]); });
}

std::vector<Dispatch> dispatchUnary(const OpTypes& types, const KernelTraits&) {
    const TensorType& out = types.outputs[0];
    return {{.shader = "ops/activate",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(out.shape.paddedElements() / 4), u32(unitOf(out.shape) / 4), liveSlot(out)},
             .specialisation = {u32(types.attributes.integer("activation"))},
             .x = gridPerVec4(out).x,
             .y = gridPerVec4(out).y}};
}

std::vector<Tensor> gradientAdd(const GradientCall& call) { return {call.outputGradients[0], call.outputGradients[0]}; }

std::vector<Tensor> gradientMultiply(const GradientCall& call) {
    return {multiply(call.outputGradients[0], call.inputs[1]), multiply(call.outputGradients[0], call.inputs[0])};
}

std::vector<Tensor> gradientSwiglu(const GradientCall& call) {
    const Tensor gate = call.graph.add(kSwigluGradient, {call.inputs[0], call.inputs[1], call.outputGradients[0]});
    return {gate, {gate.graph, gate.node, 1}};
}

std::vector<Tensor> gradientActivate(const GradientCall& call) {
    return {activateGradient(call.inputs[0], call.outputGradients[0],
                             static_cast<Activation>(call.attributes.integer("activation")))};
}

// activate_gradient: x, dy -------------------------------------------------------------------------------------------

std::vector<TensorType> inferActivateGradient(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireWhole(inputs, "activate_gradient");
    return inferPair(inputs, attributes);
}

void referenceActivateGradient(const ReferenceCall& call) {
    const auto activation = static_cast<Activation>(call.attributes.integer("activation"));
    forEach(call.outputs[0], [&](int64_t row, int64_t column) {
        return activationDerivative(activation, call.inputs[0].row(row)[column]) * call.inputs[1].row(row)[column];
    });
}

std::vector<Dispatch> dispatchActivateGradient(const OpTypes& types, const KernelTraits&) {
    const TensorType& out = types.outputs[0];
    return {{.shader = "ops/activate_gradient",
             .bindings = {load4(0), load4(1), writeOutput(0)},
             .push = {u32(out.shape.paddedElements() / 4)},
             .specialisation = {u32(types.attributes.integer("activation"))},
             .x = gridPerVec4(out).x,
             .y = gridPerVec4(out).y}};
}

// swiglu_gradient: gate, up, dy --------------------------------------------------------------------------------------

std::vector<TensorType> inferSwigluGradient(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 3, "swiglu_gradient");
    requireWhole(inputs, "swiglu_gradient");
    return {inputs[0], inputs[0]};
}

void referenceSwigluGradient(const ReferenceCall& call) {
    const auto at = [&](size_t input, int64_t row, int64_t column) { return call.inputs[input].row(row)[column]; };
    forEach(call.outputs[0], [&](int64_t row, int64_t column) {
        return activationDerivative(Activation::Silu, at(0, row, column)) * at(1, row, column) * at(2, row, column);
    });
    forEach(call.outputs[1], [&](int64_t row, int64_t column) {
        return activationValue(Activation::Silu, at(0, row, column)) * at(2, row, column);
    });
}

std::vector<Dispatch> dispatchSwigluGradient(const OpTypes& types, const KernelTraits&) {
    return {{.shader = "ops/swiglu_gradient",
             .bindings = {load4(0), load4(1), load4(2), writeOutput(0), writeOutput(1)},
             .push = {u32(types.outputs[0].shape.paddedElements() / 4)},
             .x = gridPerVec4(types.outputs[0]).x,
             .y = gridPerVec4(types.outputs[0]).y}};
}

// scale --------------------------------------------------------------------------------------------------------------

void referenceScale(const ReferenceCall& call) {
    forEach(call.outputs[0], [&](int64_t row, int64_t column) {
        return call.inputs[0].row(row)[column] * call.attributes.number("factor");
    });
}

std::vector<Dispatch> dispatchScale(const OpTypes& types, const KernelTraits&) {
    return {{.shader = "ops/scale",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(types.outputs[0].shape.paddedElements() / 4), pushFloat(types.attributes.number("factor"))},
             .x = repeatedGrid(types.outputs[0].shape.paddedElements() / 4, 64)}};
}

std::vector<Tensor> gradientScale(const GradientCall& call) {
    return {scale(call.outputGradients[0], call.attributes.number("factor"))};
}

} // namespace

const Op kAdd{.name = "add",
              .infer = inferPair,
              .reference = referencePair<Pair::Add>,
              .dispatch = dispatchPair<Pair::Add>,
              .host = hostPair<Pair::Add>,
              .gradient = gradientAdd};
const Op kMultiply{.name = "multiply",
                   .infer = inferPair,
                   .reference = referencePair<Pair::Multiply>,
                   .dispatch = dispatchPair<Pair::Multiply>,
                   .host = hostPair<Pair::Multiply>,
                   .gradient = gradientMultiply};
const Op kSwiglu{.name = "swiglu",
                 .infer = inferPair,
                 .reference = referencePair<Pair::Swiglu>,
                 .dispatch = dispatchPair<Pair::Swiglu>,
                 .host = hostPair<Pair::Swiglu>,
                 .gradient = gradientSwiglu};
const Op kActivate{.name = "activate",
                   .infer = inferUnary,
                   .reference = referenceUnary,
                   .dispatch = dispatchUnary,
                   .host = hostActivate,
                   .gradient = gradientActivate};
const Op kActivateGradient{.name = "activate_gradient",
                           .infer = inferActivateGradient,
                           .reference = referenceActivateGradient,
                           .dispatch = dispatchActivateGradient,
                           .host = hostActivateGradient};
const Op kSwigluGradient{.name = "swiglu_gradient",
                         .infer = inferSwigluGradient,
                         .reference = referenceSwigluGradient,
                         .dispatch = dispatchSwigluGradient,
                         .host = hostSwigluGradient};
const Op kScale{.name = "scale",
                .infer = inferUnary,
                .reference = referenceScale,
                .dispatch = dispatchScale,
                .host = hostScale,
                .gradient = gradientScale};

Tensor add(Tensor a, Tensor b) {
    return a.shape() == b.shape() ? a.graph->add(kAdd, {a, b}) : binary(a, b, Binary::Add);
}
Tensor multiply(Tensor a, Tensor b) {
    return a.shape() == b.shape() ? a.graph->add(kMultiply, {a, b}) : binary(a, b, Binary::Multiply);
}
Tensor swiglu(Tensor gate, Tensor up) { return gate.graph->add(kSwiglu, {gate, up}); }
Tensor activate(Tensor x, Activation activation) {
    return x.graph->add(kActivate, {x}, {{"activation", static_cast<double>(activation)}});
}
Tensor activateGradient(Tensor x, Tensor dy, Activation activation) {
    const Node& maker = dy.graph->node(dy.node);
    if (maker.op == &kMatmulPlain && maker.inputs.size() == 2)
        return matmulPlain(maker.inputs[0], maker.inputs[1],
                           {.scale = maker.attributes.number("scale"), .activation = activation, .argument = x});
    return x.graph->add(kActivateGradient, {x, dy}, {{"activation", static_cast<double>(activation)}});
}
Tensor scale(Tensor x, double factor) { return x.graph->add(kScale, {x}, {{"factor", factor}}); }

} // namespace attn
