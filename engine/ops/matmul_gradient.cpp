#include "engine/ops/definitions.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/rules.h"

namespace attn {
namespace {

// matmul_plain: x, w, perhaps the activation's argument, perhaps a residual -------------------------------------------

Activation activationOf(const Attributes& attributes) {
    return static_cast<Activation>(attributes.integer("activation"));
}

std::vector<TensorType> inferPlain(std::span<const TensorType> inputs, const Attributes& attributes) {
    const bool activates = activationOf(attributes) != Activation::None;
    requireInputs(inputs, 2 + (activates ? 1 : 0) + (attributes.flag("residual") ? 1 : 0), "matmul_plain");
    requireWhole(inputs, "matmul_plain");
    require(inputs[1].shape.rank() == 2 && inputs[0].shape.columns() == inputs[1].shape[0], "matmul_plain",
            fmt::format("x {} and w {} must be [...,K] and [K,N]", inputs[0].shape.text(), inputs[1].shape.text()));
    std::vector<int64_t> extents = inputs[0].shape.extents();
    extents.back() = inputs[1].shape[1];
    const TensorType out{.shape = Shape(extents)};
    for (const TensorType& input : inputs.subspan(2))
        require(input.shape.rows() == out.shape.rows() && input.shape.columns() == out.shape.columns(), "matmul_plain",
                fmt::format("{} must be {}", input.shape.text(), out.shape.text()));
    return {out};
}

void referencePlain(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &w = call.inputs[1];
    const Activation activation = activationOf(call.attributes);
    forEach(call.outputs[0], [&](int64_t m, int64_t n) {
        double sum = 0;
        for (int64_t k = 0; k < x.columns(); ++k) sum += x.row(m)[k] * w.row(k)[n];
        sum *= call.attributes.number("scale");
        if (activation != Activation::None) sum *= activationDerivative(activation, call.inputs[2].row(m)[n]);
        return sum + (call.attributes.flag("residual") ? call.inputs.back().row(m)[n] : 0);
    });
}

std::vector<Dispatch> dispatchPlain(const OpTypes& types, const KernelTraits& traits) {
    const Shape &x = types.inputs[0].shape, &y = types.outputs[0].shape;
    const bool hasResidual = types.attributes.flag("residual");
    const Activation activation = activationOf(types.attributes);
    const Lanes8 lanes(traits);
    // Absent operands are bound to x: the kernel never reads them.
    return {{.shader = "ops/matmul_plain",
             .bindings = {load4(0), load4(1), load4(activation != Activation::None ? 2 : 0),
                          load4(hasResidual ? static_cast<uint32_t>(types.inputs.size() - 1) : 0), writeOutput(0)},
             .push = {u32(y.rows()), u32(y.columns()), u32(x.columns()), pushFloat(types.attributes.number("scale")),
                      hasResidual ? 1u : 0u},
             .specialisation = {8, lanes.sets, static_cast<uint32_t>(activation), lanes.isExact},
             .x = groupsOf(y.columns(), 32),
             .y = groupsOf(y.rows(), 32 * lanes.sets)}};
}

// matmul_transposed: x, w -> product, sums of x's columns -------------------------------------------------------------

std::vector<TensorType> inferTransposed(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "matmul_transposed");
    requireWhole(inputs, "matmul_transposed");
    require(inputs[0].shape.rows() == inputs[1].shape.rows(), "matmul_transposed",
            fmt::format("x {} and w {} must have the same rows", inputs[0].shape.text(), inputs[1].shape.text()));
    const int64_t M = inputs[0].shape.columns(), N = inputs[1].shape.columns();
    return {{.shape = {M, N}}, {.shape = {M}}};
}

void referenceTransposed(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &w = call.inputs[1];
    forEach(call.outputs[0], [&](int64_t m, int64_t n) {
        double sum = 0;
        for (int64_t k = 0; k < x.rows(); ++k) sum += x.row(k)[m] * w.row(k)[n];
        return sum * call.attributes.number("scale");
    });
    for (int64_t k = 0; k < x.rows(); ++k)
        for (int64_t m = 0; m < x.columns(); ++m) call.outputs[1].data[m] += x.row(k)[m];
}

std::vector<Dispatch> dispatchTransposed(const OpTypes& types, const KernelTraits& traits) {
    const Shape& y = types.outputs[0].shape;
    const Lanes8 lanes(traits);
    return {{.shader = "ops/matmul_transposed",
             .bindings = {load4(0), load4(1), writeOutput(0), writeOutput(1)},
             .push = {u32(y.rows()), u32(y.columns()), u32(types.inputs[0].shape.rows()),
                      pushFloat(types.attributes.number("scale"))},
             .specialisation = {8, lanes.sets, 0, lanes.isExact},
             .x = groupsOf(y.columns(), 32),
             .y = groupsOf(y.rows(), 32 * lanes.sets)}};
}

} // namespace

const Op kMatmulPlain{.name = "matmul_plain",
                      .infer = inferPlain,
                      .reference = referencePlain,
                      .dispatch = dispatchPlain,
                      .takesResidual = true};
const Op kMatmulTransposed{.name = "matmul_transposed",
                           .infer = inferTransposed,
                           .reference = referenceTransposed,
                           .dispatch = dispatchTransposed};

Tensor matmulPlain(Tensor x, Tensor w, const PlainOptions& options) {
    std::vector<Tensor> inputs{x, w};
    if (options.activation != Activation::None) inputs.push_back(options.argument);
    if (options.residual) inputs.push_back(*options.residual);
    return x.graph->add(kMatmulPlain, std::move(inputs),
                        {{"scale", options.scale},
                         {"activation", static_cast<double>(options.activation)},
                         {"residual", options.residual ? 1 : 0}});
}

Transposed matmulTransposed(Tensor x, Tensor w, double scale) {
    const Tensor product = x.graph->add(kMatmulTransposed, {x, w}, {{"scale", scale}});
    return {product, {product.graph, product.node, 1}};
}

} // namespace attn
