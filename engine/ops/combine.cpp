#include "engine/host/function.h"
#include "engine/ops/definitions.h"
#include "engine/ops/gradient_ops.h"
#include "engine/ops/host_rows.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/walk.h"

#include <algorithm>

// Functions of two or three tensors of different extents.

namespace attn {
namespace {

TensorType broadcastType(std::span<const TensorType> inputs, std::string_view op) {
    requireWhole(inputs, op);
    Shape shape = inputs[0].shape;
    for (const TensorType& input : inputs) {
        require(input.dtype == DType::F32, op, "integers must be converted to real numbers first");
        shape = broadcastShape(shape, input.shape, op);
    }
    return {.shape = shape};
}

/// Calls function(values of the inputs) for every element.
template <typename Function> void combine(const ReferenceCall& call, Function function) {
    const ReferenceTensor& y = call.outputs[0];
    std::vector<std::vector<int64_t>> steps;
    for (const ReferenceTensor& input : call.inputs) steps.push_back(broadcastSteps(input.shape, y.shape));
    std::vector<double> values(call.inputs.size());
    const std::vector<int64_t> outSteps = stepsOf(y.shape);
    forEachIndex(y.shape, [&](const std::vector<int64_t>& index) {
        for (size_t i = 0; i < values.size(); ++i) values[i] = call.inputs[i].data[offsetOf(steps[i], index)];
        y.data[offsetOf(outSteps, index)] = function(values);
    });
}

constexpr uint32_t kSelectFunction = 8; // follows those of Binary

/// The shape to compute in: long rows if all tensors have the same shape without padding. Only the order of their
/// elements matters then.
Shape flattened(const OpTypes& types) {
    const Shape& out = types.outputs[0].shape;
    const bool isSame = std::ranges::all_of(types.inputs, [&](const TensorType& input) { return input.shape == out; });
    int64_t columns = 256;
    while (out.elements() % columns != 0) columns /= 2;
    return isSame && out.columns() % 4 == 0 ? Shape{out.elements() / columns, columns} : out;
}

/// How a kernel steps through the result and the operands a, b and c.
struct Combination {
    Shape out;             ///< to compute in
    Walk walk{};           ///< over the rows of the result, a, b and c, in floats
    uint32_t repeated = 0; ///< bits: whether a, b, c have one column, repeated for all

    /// @param order which input is a, b and c
    Combination(const OpTypes& types, std::array<uint32_t, 3> order) : out(flattened(types)) {
        const bool isFlat = !(out == types.outputs[0].shape);
        walk.extents = {out.extents().begin(), out.extents().end() - 1};
        walk.starts = {0, 0, 0, 0};
        const auto addSteps = [&](const std::vector<int64_t>& floats) {
            walk.steps.emplace_back(floats.begin(), floats.end() - 1);
        };
        addSteps(stepsOf(out));
        for (uint32_t i = 0; i < order.size(); ++i) {
            const Shape input = isFlat ? out : types.inputs[order.at(i)].shape;
            addSteps(broadcastSteps(input, out));
            if (input.columns() == 1 && out.columns() != 1) repeated |= 1u << i;
        }
    }
};

std::vector<Dispatch> dispatchCombined(const OpTypes& types, uint32_t function, std::array<uint32_t, 3> order) {
    Combination all(types, order);
    for (auto& steps : all.walk.steps)
        for (int64_t& step : steps) step /= 4;
    std::vector<Dispatch> result;
    for (RowLaunch& launch : rowLaunches(all.walk, all.out.rowStride() / 4)) {
        launch.push.push_back(u32(all.out.columns()));
        result.push_back(
            {.shader = "ops/combine",
             .bindings = {load4(order[0]), load4(order[1]), load4(order[2]), writeOutput(0)},
             .push = launch.push,
             .specialisation = {launch.grid.lanes, function, all.repeated, all.out.columns() % 4 == 0 ? 0u : 1u},
             .x = launch.grid.x,
             .y = launch.grid.y,
             .z = launch.grid.z,
             .barrierBefore = !result.empty()});
    }
    return result;
}

/// @param kernel computes rows: kernel(rows, columns, operands a, b and c, output, its step)
template <typename Kernel> HostKernel hostCombined(const OpTypes& types, std::array<uint32_t, 3> order, Kernel kernel) {
    const Combination all(types, order);
    return [=, rows = HostRows<4>(all.walk)](const HostRun& run) {
        rows.run(run.pool, rowsForThread(all.out), [&](std::array<int64_t, 4> at, int64_t count) {
            std::array<host::Operand, 3> operands;
            for (uint32_t i = 0; i < 3; ++i)
                operands.at(i) = {run.inputs[order.at(i)] + at.at(i + 1), rows.steps().at(i + 1),
                                  (all.repeated >> i & 1) != 0};
            kernel(count, all.out.columns(), operands, run.outputs[0] + at[0], rows.steps()[0]);
        });
    };
}

// binary -------------------------------------------------------------------------------------------------------------

Binary functionOf(const Attributes& attributes) { return static_cast<Binary>(attributes.integer("function")); }

std::vector<TensorType> inferBinary(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "binary");
    return {broadcastType(inputs, "binary")};
}

double valueOf(Binary function, double a, double b) {
    switch (function) {
    case Binary::Add:
        return a + b;
    case Binary::Subtract:
        return a - b;
    case Binary::Multiply:
        return a * b;
    case Binary::Divide:
        return a / b;
    case Binary::Maximum:
        return std::max(a, b);
    case Binary::Minimum:
        return std::min(a, b);
    case Binary::Less:
        return a < b ? 1 : 0;
    case Binary::Equal:
        return a == b ? 1 : 0;
    }
    return 0;
}

void referenceBinary(const ReferenceCall& call) {
    const Binary function = functionOf(call.attributes);
    combine(call, [&](const std::vector<double>& values) { return valueOf(function, values[0], values[1]); });
}

std::vector<Dispatch> dispatchBinary(const OpTypes& types, const KernelTraits&) {
    return dispatchCombined(types, u32(types.attributes.integer("function")), {0, 1, 1});
}

HostKernel hostBinary(const OpTypes& types) {
    return hostCombined(types, {0, 1, 1},
                        [function = functionOf(types.attributes)](int64_t rows, int64_t columns, const auto& operands,
                                                                  float* out, int64_t step) {
                            host::combine(function, rows, columns, operands[0], operands[1], out, step);
                        });
}

std::vector<Tensor> gradientBinary(const GradientCall& call) {
    const Tensor d = call.outputGradients[0], a = call.inputs[0], b = call.inputs[1], y = call.outputs[0];
    const auto both = [&](Tensor ofA, Tensor ofB) { return std::vector{sumTo(ofA, a.shape()), sumTo(ofB, b.shape())}; };
    const auto chosen = [&](Tensor isOther) { // where the condition holds, b was taken
        const Tensor zero = fill(call.graph, {1}, 0);
        return both(select(isOther, zero, d), select(isOther, d, zero));
    };
    switch (functionOf(call.attributes)) {
    case Binary::Add:
        return both(d, d);
    case Binary::Subtract: {
        const Tensor ofB = sumTo(d, b.shape());
        return {sumTo(d, a.shape()), scale(ofB, -1)};
    }
    case Binary::Multiply:
        return both(binary(d, b, Binary::Multiply), binary(d, a, Binary::Multiply));
    case Binary::Divide: {
        const Tensor ofA = binary(d, b, Binary::Divide);
        return both(ofA, scale(binary(ofA, y, Binary::Multiply), -1));
    }
    case Binary::Maximum:
        return chosen(binary(a, b, Binary::Less));
    case Binary::Minimum:
        return chosen(binary(b, a, Binary::Less));
    case Binary::Less:
    case Binary::Equal:
        break;
    }
    return {{}, {}};
}

// select: condition, a, b --------------------------------------------------------------------------------------------

std::vector<TensorType> inferSelect(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 3, "select");
    return {broadcastType(inputs, "select")};
}

void referenceSelect(const ReferenceCall& call) {
    combine(call, [](const std::vector<double>& values) { return values[0] != 0 ? values[1] : values[2]; });
}

std::vector<Dispatch> dispatchSelect(const OpTypes& types, const KernelTraits&) {
    return dispatchCombined(types, kSelectFunction, {1, 2, 0});
}

HostKernel hostSelect(const OpTypes& types) {
    return hostCombined(types, {0, 1, 2},
                        [](int64_t rows, int64_t columns, const auto& operands, float* out, int64_t step) {
                            host::select(rows, columns, operands[0], operands[1], operands[2], out, step);
                        });
}

std::vector<Tensor> gradientSelect(const GradientCall& call) {
    const Tensor condition = call.inputs[0], d = call.outputGradients[0], zero = fill(call.graph, {1}, 0);
    return {{},
            sumTo(select(condition, d, zero), call.inputs[1].shape()),
            sumTo(select(condition, zero, d), call.inputs[2].shape())};
}

} // namespace

const Op kBinary{.name = "binary",
                 .infer = inferBinary,
                 .reference = referenceBinary,
                 .dispatch = dispatchBinary,
                 .host = hostBinary,
                 .gradient = gradientBinary};
const Op kSelect{.name = "select",
                 .infer = inferSelect,
                 .reference = referenceSelect,
                 .dispatch = dispatchSelect,
                 .host = hostSelect,
                 .gradient = gradientSelect,
                 .operations = noOperations};

Tensor binary(Tensor a, Tensor b, Binary function) {
    if (a.shape() == b.shape() && function == Binary::Add) return add(a, b);
    if (a.shape() == b.shape() && function == Binary::Multiply) return multiply(a, b);
    return a.graph->add(kBinary, {a, b}, {{"function", static_cast<double>(function)}});
}

Tensor select(Tensor condition, Tensor a, Tensor b) { return condition.graph->add(kSelect, {condition, a, b}); }

} // namespace attn
