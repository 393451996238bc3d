#include "engine/ops/definitions.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/host_product.h"
#include "engine/ops/rules.h"

#include <algorithm>
#include <array>
#include <vector>

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
    if (attributes.flag("keepsArgument")) return {out, out};
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
            if (call.outputs.size() == 2) call.outputs[1].row(m)[n] = sum;
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
    const uint32_t activation = u32(types.attributes.integer("activation")), keeps = types.outputs.size() == 2 ? 1 : 0;
    const auto constants = [&](uint32_t width, uint32_t height) {
        return std::vector<uint32_t>{width, height, activation, keeps, hasBias ? 1u : 0u, hasResidual ? 1u : 0u};
    };
    const int64_t rowsPerUnit = std::max<int64_t>(unitOf(y) / y.rowStride(), 1);
    Dispatch result{.bindings = {load4(0), load4(1), load4(bias), load4(residual), writeOutput(0), writeOutput(keeps)},
                    .push = {u32(y.rows()), u32(y.columns()), u32(x.columns()), liveSlot(out),
                             pushFloat(types.attributes.number("scale")), u32(rowsPerUnit)}};
    const auto groups = [](int64_t count, int64_t per) { return GridAxis::fixed(u32((count + per - 1) / per)); };
    const bool isVector = y.rows() == 1;
    if (const Storage storage = types.inputs[1].storage; storage != Storage::F32) {
        constexpr uint32_t kSubgroups = 4; // of 4 columns and 4 rows each
        result.shader = "ops/matmul_compact";
        result.bindings[1] = readInput(1);
        if (!hasBias) result.bindings[2] = load4(0); // the weight is no row of floats
        result.push.push_back(u32(storedRow(storage, x.columns()).bytes / 4));
        result.specialisation = constants(traits.subgroupSize, kSubgroups);
        result.specialisation.push_back(static_cast<uint32_t>(storage));
        result.x = groups(y.columns(), 4 * kSubgroups);
        result.y = groups(y.rows(), 4);
        return {result};
    }
    if (traits.prefersSubgroupTiles) {
        // Subgroups of 16 or 32 rows each, or of 32 columns for a vector. A vector gets no idle subgroups, because they
        // cost time too.
        const int64_t wanted = isVector ? (y.columns() + 31) / 32 : 4;
        const uint32_t subgroups = wanted >= 12 || wanted % 4 == 0 ? 4 : wanted % 2 == 0 ? 2 : 1;
        const bool isLarge = y.rows() >= 100;
        result.shader = isVector  ? "ops/matvec_subgroup8"
                        : isLarge ? "ops/matmul_large_subgroup8"
                                  : "ops/matmul_subgroup8";
        result.specialisation = constants(8, subgroups);
        result.x = isVector ? groups(y.columns(), 32 * subgroups) : groups(y.columns(), 32);
        result.y = isVector ? groups(1, 1) : groups(y.rows(), (isLarge ? 32 : 16) * subgroups);
    } else if (isVector) {
        constexpr uint32_t kSubgroups = 4; // of 4 columns each
        result.shader = "ops/matvec_shared";
        result.specialisation = constants(traits.subgroupSize, kSubgroups);
        result.x = groups(y.columns(), 4 * kSubgroups);
    } else {
        constexpr int64_t kLargeTile = 128, kMany = 512; // from this many tiles on, large ones keep a card busy
        const ProductTiles tiles(y.rows(), y.columns(), x.columns());
        const bool isLarge = y.rows() * y.columns() >= kMany * kLargeTile * kLargeTile;
        result.shader = isLarge ? "ops/matmul_large_shared" : "ops/matmul_shared";
        result.specialisation = isLarge ? constants(256, 1) : constants(64, tiles.groups);
        result.x = isLarge ? groups(y.columns(), kLargeTile) : tiles.x;
        result.y = isLarge ? groups(y.rows(), kLargeTile) : tiles.y;
    }
    return {result};
}

/// A product on the processor.
struct HostMatmul {
    HostProduct product;
    TensorType out;
    size_t inputs = 0, outputs = 0; ///< numbers of them
    bool hasBias = false, hasResidual = false, keepsArgument = false;
    Activation activation = Activation::None;

    explicit HostMatmul(const OpTypes& types)
        : product{.N = types.outputs[0].shape.columns(),
                  .stride = types.outputs[0].shape.rowStride(),
                  .mostRows = types.outputs[0].shape.rows(),
                  .K = {types.inputs[0].shape.columns()},
                  .isTransposed = true,
                  .scale = static_cast<float>(types.attributes.number("scale")),
                  .storage = types.inputs[1].storage},
          out(types.outputs[0]), inputs(types.inputs.size()), outputs(types.outputs.size()),
          hasBias(types.attributes.flag("bias")), hasResidual(types.attributes.flag("residual")),
          keepsArgument(types.attributes.flag("keepsArgument")),
          activation(static_cast<Activation>(types.attributes.integer("activation"))) {}

    HostProduct::Call call(std::span<float* const> in, std::span<float* const> to) const {
        return {.operands = in,
                .out = to[0],
                .finish = {.bias = hasBias ? in[2] : nullptr,
                           .argument = keepsArgument ? to[1] : nullptr,
                           .activation = activation,
                           .residual = hasResidual ? in.back() : nullptr}};
    }
};

HostKernel hostTogether(std::span<const OpTypes> types) {
    const std::vector<HostMatmul> matmuls(types.begin(), types.end());
    std::vector<HostProduct> products;
    for (const HostMatmul& matmul : matmuls) products.push_back(matmul.product);
    return [=](const HostRun& run) {
        std::array<HostProduct::Call, Op::kMaxJoined> calls;
        size_t input = 0, output = 0;
        for (size_t i = 0; i < matmuls.size(); ++i) {
            const HostMatmul& matmul = matmuls[i];
            calls[i] =
                matmul.call(run.inputs.subspan(input, matmul.inputs), run.outputs.subspan(output, matmul.outputs));
            input += matmul.inputs;
            output += matmul.outputs;
        }
        HostProduct::runTogether(liveRowsOf(matmuls[0].out, run.step), products, {calls.data(), matmuls.size()},
                                 run.pool);
    };
}

HostKernel hostKernel(const OpTypes& types) { return hostTogether({&types, 1}); }

double operations(const OpTypes& types) {
    return 2.0 * static_cast<double>(types.outputs[0].shape.elements()) *
           static_cast<double>(types.inputs[0].shape.columns());
}

std::vector<Tensor> gradient(const GradientCall& call) {
    const Tensor x = call.inputs[0], w = call.inputs[1];
    const auto activation = static_cast<Activation>(call.attributes.integer("activation"));
    const double scale = call.attributes.number("scale");
    const bool hasBias = call.attributes.flag("bias"), hasResidual = call.attributes.flag("residual");
    Tensor d = call.outputGradients[0];
    if (activation != Activation::None) {
        const Tensor argument =
            call.outputs.size() == 2
                ? call.outputs[1]
                : matmul(x, w, {.bias = hasBias ? std::optional(call.inputs[2]) : std::nullopt, .scale = scale});
        d = activateGradient(argument, d, activation);
    }
    const auto [dWeight, dBias] = matmulTransposed(d, x, scale);
    std::vector<Tensor> result{matmulPlain(d, w, {.scale = scale}), dWeight};
    if (hasBias) result.push_back(dBias);
    if (hasResidual) result.push_back(call.outputGradients[0]);
    return result;
}

} // namespace

const Op kMatmul{.name = "matmul",
                 .infer = infer,
                 .reference = reference,
                 .dispatch = dispatch,
                 .host = hostKernel,
                 .hostTogether = hostTogether,
                 .gradient = gradient,
                 .operations = operations,
                 .compactInput = 1};

Tensor matmul(Tensor x, Tensor w, const MatmulOptions& options) {
    std::vector<Tensor> inputs{x, w};
    if (options.bias) inputs.push_back(*options.bias);
    if (options.residual) inputs.push_back(*options.residual);
    return x.graph->add(kMatmul, std::move(inputs),
                        {{"bias", options.bias ? 1 : 0},
                         {"residual", options.residual ? 1 : 0},
                         {"activation", static_cast<double>(options.activation)},
                         {"keepsArgument", options.keepsArgument ? 1 : 0},
                         {"scale", options.scale}});
}

} // namespace attn
