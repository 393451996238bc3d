#include "engine/ops/definitions.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/rules.h"

#include <algorithm>

namespace attn {
namespace {

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs,
                  2 + static_cast<size_t>(attributes.flag("bias")) + static_cast<size_t>(attributes.flag("residual")),
                  "matmul");
    const Shape &x = inputs[0].shape, &w = inputs[1].shape;
    require(w.rank() == 2 && x.columns() == w.columns(), "matmul",
            fmt::format("x {} and w {} must agree in their last axis; w is [out, in]", x.text(), w.text()));
    std::vector<int64_t> extents = x.extents();
    extents.back() = w[0];
    TensorType out{.shape = Shape(extents), .dtype = DType::F32, .liveRows = inputs[0].liveRows};
    if (attributes.flag("bias"))
        require(inputs[2].shape == Shape{w[0]}, "matmul",
                fmt::format("bias {} must be [{}]", inputs[2].shape.text(), w[0]));
    if (attributes.flag("residual"))
        require(inputs.back().shape == out.shape, "matmul",
                fmt::format("residual {} must be {}", inputs.back().shape.text(), out.shape.text()));
    return {out};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0];
    const bool hasBias = call.attributes.flag("bias"), hasResidual = call.attributes.flag("residual");
    const auto activation = static_cast<Activation>(call.attributes.integer("activation"));
    for (int64_t m = 0; m < y.rows(); ++m)
        for (int64_t n = 0; n < y.columns(); ++n) {
            double sum = 0;
            for (int64_t k = 0; k < x.columns(); ++k) sum += x.row(m)[k] * w.row(n)[k];
            sum *= call.attributes.number("scale");
            if (hasBias) sum += call.inputs[2].data[n];
            sum = activationValue(activation, sum);
            if (hasResidual) sum += call.inputs.back().row(m)[n];
            y.row(m)[n] = sum;
        }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    const Shape &x = types.inputs[0].shape, &y = types.outputs[0].shape;
    const bool hasBias = types.attributes.flag("bias"), hasResidual = types.attributes.flag("residual");
    require(
        static_cast<uint64_t>(y.paddedElements()) * 4 <= traits.maxStorageBufferRange, "matmul",
        fmt::format("the output {} needs {} MiB but one binding of this device holds {} MiB; run fewer rows at once",
                    y.text(), y.paddedElements() * 4 >> 20, traits.maxStorageBufferRange >> 20));

    // Absent operands are bound to the weight: the kernel never reads them.
    const uint32_t bias = hasBias ? 2u : 1u;
    const uint32_t residual = hasResidual ? (hasBias ? 3u : 2u) : 0u;
    const TensorType& out = types.outputs[0];
    const uint32_t activation = u32(types.attributes.integer("activation"));
    const int64_t rowsPerUnit = std::max<int64_t>(unitOf(y) / y.rowStride(), 1);
    Dispatch result{.bindings = {load4(0), load4(1), load4(bias), load4(residual), writeOutput(0)},
                    .push = {u32(y.rows()), u32(y.columns()), u32(x.columns()), liveSlot(out),
                             (hasBias ? 1u : 0u) | (hasResidual ? 2u : 0u), pushFloat(types.attributes.number("scale")),
                             u32(rowsPerUnit)}};
    const auto groups = [](int64_t count, int64_t per) { return GridAxis::fixed(u32((count + per - 1) / per)); };
    const bool isVector = y.rows() == 1;
    if (traits.prefersSubgroupTiles) {
        // Of 16 or 32 rows each, or of 32 columns for a vector: there no more than have work, because idle ones run
        // along.
        const int64_t wanted = isVector ? (y.columns() + 31) / 32 : 4;
        const uint32_t subgroups = wanted >= 12 || wanted % 4 == 0 ? 4 : wanted % 2 == 0 ? 2 : 1;
        const bool isLarge = y.rows() >= 100;
        result.shader = isVector  ? "ops/matvec_subgroup8"
                        : isLarge ? "ops/matmul_large_subgroup8"
                                  : "ops/matmul_subgroup8";
        result.specialisation = {8, subgroups, activation};
        result.x = isVector ? groups(y.columns(), 32 * subgroups) : groups(y.columns(), 32);
        result.y = isVector ? groups(1, 1) : groups(y.rows(), (isLarge ? 32 : 16) * subgroups);
    } else if (isVector) {
        constexpr uint32_t kSubgroups = 4; // of 4 columns each
        result.shader = "ops/matvec_shared";
        result.specialisation = {traits.subgroupSize, kSubgroups, activation};
        result.x = groups(y.columns(), 4 * kSubgroups);
    } else {
        constexpr int64_t kTile = 128;
        result.shader = "ops/matmul_shared";
        result.specialisation = {256, 1, activation};
        result.x = groups(y.columns(), kTile);
        result.y = groups(y.rows(), kTile);
    }
    return {result};
}

std::vector<Tensor> gradient(const GradientCall& call) {
    const Tensor x = call.inputs[0], w = call.inputs[1];
    const auto activation = static_cast<Activation>(call.attributes.integer("activation"));
    const double scale = call.attributes.number("scale");
    const bool hasBias = call.attributes.flag("bias"), hasResidual = call.attributes.flag("residual");
    Tensor d = call.outputGradients[0];
    if (activation != Activation::None) { // what the activation saw is computed again
        const Tensor before =
            matmul(x, w, {.bias = hasBias ? std::optional(call.inputs[2]) : std::nullopt, .scale = scale});
        d = activateGradient(before, d, activation);
    }
    std::vector<Tensor> result{matmulPlain(d, w, scale), matmulTransposed(d, x, scale)};
    if (hasBias) result.push_back(columnSums(d));
    if (hasResidual) result.push_back(call.outputGradients[0]);
    return result;
}

// matmul_plain and matmul_transposed: x, w ---------------------------------------------------------------------------

std::vector<TensorType> inferPlain(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, attributes.flag("residual") ? 3 : 2, "matmul_plain");
    requireWhole(inputs, "matmul_plain");
    require(inputs[1].shape.rank() == 2 && inputs[0].shape.columns() == inputs[1].shape[0], "matmul_plain",
            fmt::format("x {} and w {} must be [...,K] and [K,N]", inputs[0].shape.text(), inputs[1].shape.text()));
    std::vector<int64_t> extents = inputs[0].shape.extents();
    extents.back() = inputs[1].shape[1];
    return {{.shape = Shape(extents)}};
}

void referencePlain(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &w = call.inputs[1];
    forEach(call.outputs[0], [&](int64_t m, int64_t n) {
        double sum = 0;
        for (int64_t k = 0; k < x.columns(); ++k) sum += x.row(m)[k] * w.row(k)[n];
        return sum * call.attributes.number("scale") +
               (call.attributes.flag("residual") ? call.inputs[2].row(m)[n] : 0);
    });
}

std::vector<TensorType> inferTransposed(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "matmul_transposed");
    requireWhole(inputs, "matmul_transposed");
    require(inputs[0].shape.rows() == inputs[1].shape.rows(), "matmul_transposed",
            fmt::format("x {} and w {} must have the same rows", inputs[0].shape.text(), inputs[1].shape.text()));
    return {{.shape = {inputs[0].shape.columns(), inputs[1].shape.columns()}}};
}

void referenceTransposed(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &w = call.inputs[1];
    forEach(call.outputs[0], [&](int64_t m, int64_t n) {
        double sum = 0;
        for (int64_t k = 0; k < x.rows(); ++k) sum += x.row(k)[m] * w.row(k)[n];
        return sum * call.attributes.number("scale");
    });
}

std::vector<Dispatch> dispatchOuter(const OpTypes& types, const KernelTraits& traits, bool isTransposed) {
    const Shape &x = types.inputs[0].shape, &y = types.outputs[0].shape;
    const bool hasResidual = types.inputs.size() == 3;
    const Lanes8 lanes(traits);
    return {{.shader = isTransposed ? "ops/matmul_transposed" : "ops/matmul_plain",
             .bindings = {load4(0), load4(1), load4(hasResidual ? 2 : 0), writeOutput(0)},
             .push = {u32(y.rows()), u32(y.columns()), u32(isTransposed ? x.rows() : x.columns()),
                      hasResidual ? 1u : 0u, pushFloat(types.attributes.number("scale"))},
             .specialisation = {8, lanes.sets, 0, lanes.isExact},
             .x = groupsOf(y.columns(), 32),
             .y = groupsOf(y.rows(), 32 * lanes.sets)}};
}

std::vector<Dispatch> dispatchPlain(const OpTypes& types, const KernelTraits& traits) {
    return dispatchOuter(types, traits, false);
}
std::vector<Dispatch> dispatchTransposed(const OpTypes& types, const KernelTraits& traits) {
    return dispatchOuter(types, traits, true);
}

// column_sums --------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferColumnSums(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "column_sums");
    requireWhole(inputs, "column_sums");
    return {{.shape = {inputs[0].shape.columns()}}};
}

void referenceColumnSums(const ReferenceCall& call) {
    for (int64_t row = 0; row < call.inputs[0].rows(); ++row)
        for (int64_t c = 0; c < call.inputs[0].columns(); ++c) call.outputs[0].data[c] += call.inputs[0].row(row)[c];
}

std::vector<Dispatch> dispatchColumnSums(const OpTypes& types, const KernelTraits&) {
    const Shape& x = types.inputs[0].shape;
    return {{.shader = "ops/column_sums",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(x.rows()), u32(x.columns())},
             .x = groupsOf(x.rowStride() / 4, 8)}};
}

} // namespace

const Op kMatmul{.name = "matmul", .infer = infer, .reference = reference, .dispatch = dispatch, .gradient = gradient};
const Op kMatmulPlain{
    .name = "matmul_plain", .infer = inferPlain, .reference = referencePlain, .dispatch = dispatchPlain};
const Op kMatmulTransposed{.name = "matmul_transposed",
                           .infer = inferTransposed,
                           .reference = referenceTransposed,
                           .dispatch = dispatchTransposed};
const Op kColumnSums{
    .name = "column_sums", .infer = inferColumnSums, .reference = referenceColumnSums, .dispatch = dispatchColumnSums};

Tensor matmulPlain(Tensor x, Tensor w, double scale, std::optional<Tensor> residual) {
    std::vector<Tensor> inputs{x, w};
    if (residual) inputs.push_back(*residual);
    return x.graph->add(kMatmulPlain, std::move(inputs), {{"scale", scale}, {"residual", residual ? 1 : 0}});
}
Tensor matmulTransposed(Tensor x, Tensor w, double scale) {
    return x.graph->add(kMatmulTransposed, {x, w}, {{"scale", scale}});
}
Tensor columnSums(Tensor x) { return x.graph->add(kColumnSums, {x}); }

Tensor matmul(Tensor x, Tensor w, const MatmulOptions& options) {
    std::vector<Tensor> inputs{x, w};
    if (options.bias) inputs.push_back(*options.bias);
    if (options.residual) inputs.push_back(*options.residual);
    return x.graph->add(kMatmul, std::move(inputs),
                        {{"bias", options.bias ? 1 : 0},
                         {"residual", options.residual ? 1 : 0},
                         {"activation", static_cast<double>(options.activation)},
                         {"scale", options.scale}});
}

} // namespace attn
