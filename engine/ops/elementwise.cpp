#include "engine/ops/elementwise.h"

#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"

#include <cmath>
#include <numbers>

namespace attn {

double activationValue(Activation activation, double x) {
    switch (activation) {
    case Activation::None: return x;
    case Activation::GeluErf: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::GeluTanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Silu: return x / (1 + std::exp(-x));
    case Activation::Relu: return x > 0 ? x : 0;
    }
    return x;
}

namespace {

enum class Binary : uint32_t { Add, Multiply, Swiglu };

std::vector<TensorType> inferBinary(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "elementwise");
    require(inputs[0].shape == inputs[1].shape, "elementwise",
            fmt::format("shapes {} and {} differ", inputs[0].shape.text(), inputs[1].shape.text()));
    return {inputs[0]};
}

template <typename Function> void forEach(const ReferenceCall& call, Function function) {
    const ReferenceTensor& out = call.outputs[0];
    for (int64_t row = 0; row < out.rows(); ++row)
        for (int64_t column = 0; column < out.columns(); ++column) out.row(row)[column] = function(row, column);
}

template <Binary kind> void referenceBinary(const ReferenceCall& call) {
    forEach(call, [&](int64_t row, int64_t column) {
        const double a = call.inputs[0].row(row)[column], b = call.inputs[1].row(row)[column];
        if constexpr (kind == Binary::Add) return a + b;
        if constexpr (kind == Binary::Multiply) return a * b;
        return activationValue(Activation::Silu, a) * b;
    });
}

template <Binary kind> std::vector<Dispatch> dispatchBinary(const OpTypes& types, const KernelTraits&) {
    const TensorType& out = types.outputs[0];
    return {{.shader = "ops/binary",
             .bindings = {load4(0), load4(1), writeOutput(0)},
             .push = {u32(out.shape.paddedElements() / 4), u32(unitOf(out.shape) / 4), liveSlot(out)},
             .specialisation = {static_cast<uint32_t>(kind)},
             .x = gridPerVec4(out)}};
}

std::vector<TensorType> inferUnary(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "activate");
    return {inputs[0]};
}

void referenceUnary(const ReferenceCall& call) {
    const auto activation = static_cast<Activation>(call.attributes.integer("activation"));
    forEach(call, [&](int64_t row, int64_t column) { return activationValue(activation, call.inputs[0].row(row)[column]); });
}

std::vector<Dispatch> dispatchUnary(const OpTypes& types, const KernelTraits&) {
    const TensorType& out = types.outputs[0];
    return {{.shader = "ops/activate",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(out.shape.paddedElements() / 4), u32(unitOf(out.shape) / 4), liveSlot(out)},
             .specialisation = {u32(types.attributes.integer("activation"))},
             .x = gridPerVec4(out)}};
}

} // namespace

const Op kAdd{.name = "add", .infer = inferBinary, .reference = referenceBinary<Binary::Add>, .dispatch = dispatchBinary<Binary::Add>};
const Op kMultiply{
    .name = "multiply", .infer = inferBinary, .reference = referenceBinary<Binary::Multiply>, .dispatch = dispatchBinary<Binary::Multiply>};
const Op kSwiglu{.name = "swiglu", .infer = inferBinary, .reference = referenceBinary<Binary::Swiglu>, .dispatch = dispatchBinary<Binary::Swiglu>};
const Op kActivate{.name = "activate", .infer = inferUnary, .reference = referenceUnary, .dispatch = dispatchUnary};

Tensor add(Tensor a, Tensor b) { return a.graph->add(kAdd, {a, b}); }
Tensor multiply(Tensor a, Tensor b) { return a.graph->add(kMultiply, {a, b}); }
Tensor swiglu(Tensor gate, Tensor up) { return gate.graph->add(kSwiglu, {gate, up}); }
Tensor activate(Tensor x, Activation activation) {
    return x.graph->add(kActivate, {x}, {{"activation", static_cast<double>(activation)}});
}

} // namespace attn
