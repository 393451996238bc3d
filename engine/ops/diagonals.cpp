#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

#include <algorithm>

namespace attn {
namespace {

// Both turn columns that stand for distances into columns that stand for keys, or back. Distance s - t is in column
// s - t + T - 1 of T + S - 1.

Shape withColumns(const Shape& shape, int64_t columns) {
    std::vector<int64_t> extents = shape.extents();
    extents.back() = columns;
    return Shape(std::move(extents));
}

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 1, "diagonals");
    requireWhole(inputs, "diagonals");
    const Shape& x = inputs[0].shape;
    const int64_t keys = attributes.integer("keys");
    require(x.rank() >= 2 && keys >= 1 && x[-1] == x[-2] + keys - 1, "diagonals",
            fmt::format("{} must be [..., T, T + S - 1] with S = {}", x.text(), keys));
    return {{.shape = withColumns(x, keys)}};
}
std::vector<TensorType> inferBack(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "undiagonals");
    requireWhole(inputs, "undiagonals");
    const Shape& x = inputs[0].shape;
    require(x.rank() >= 2, "undiagonals", fmt::format("{} must be [..., T, S]", x.text()));
    return {{.shape = withColumns(x, x[-1] + x[-2] - 1)}};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    const int64_t T = x.shape[-2];
    for (int64_t row = 0; row < x.rows(); ++row)
        for (int64_t s = 0; s < y.columns(); ++s) y.row(row)[s] = x.row(row)[s - row % T + T - 1];
}
void referenceBack(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    const int64_t T = x.shape[-2];
    for (int64_t row = 0; row < x.rows(); ++row)
        for (int64_t s = 0; s < x.columns(); ++s) y.row(row)[s - row % T + T - 1] = x.row(row)[s];
}

std::vector<Dispatch> dispatchWith(const OpTypes& types, bool isBack) {
    const Shape &x = types.inputs[0].shape, &y = types.outputs[0].shape;
    return {
        {.shader = "ops/diagonals",
         .bindings = {readInput(0), writeOutput(0)},
         .push = {u32(x.rowStride()), u32(y.rowStride()), u32(x[-2]), u32(isBack ? x[-1] : y[-1]), isBack ? 1u : 0u},
         .x = groupsOf(y.rowStride() / 4, 64),
         .y = GridAxis::fixed(u32(x[-2])),
         .z = GridAxis::fixed(u32(x.rows() / x[-2]))}};
}
std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) { return dispatchWith(types, false); }
std::vector<Dispatch> dispatchBack(const OpTypes& types, const KernelTraits&) { return dispatchWith(types, true); }

/// Copies `count` floats of each row, beginning at the column of distance 0, in one direction or the other.
HostKernel hostWith(const OpTypes& types, bool isBack) {
    return [isBack, x = types.inputs[0].shape, y = types.outputs[0].shape](const HostRun& run) {
        const int64_t T = x[-2], count = isBack ? x.columns() : y.columns();
        run.pool.ranges(x.rows(), rowsForThread(y), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t shift = T - 1 - row % T;
                const float* from = run.inputs[0] + row * x.rowStride() + (isBack ? 0 : shift);
                float *to = run.outputs[0] + row * y.rowStride(), *first = to + (isBack ? shift : 0);
                std::fill(to, first, 0.0f);
                std::copy_n(from, count, first);
                std::fill(first + count, to + y.rowStride(), 0.0f);
            }
        });
    };
}
HostKernel hostKernel(const OpTypes& types) { return hostWith(types, false); }
HostKernel hostBack(const OpTypes& types) { return hostWith(types, true); }

std::vector<Tensor> gradientOf(const GradientCall& call) { return {undiagonals(call.outputGradients[0])}; }
std::vector<Tensor> gradientBack(const GradientCall& call) {
    return {diagonals(call.outputGradients[0], call.inputs[0].shape()[-1])};
}

} // namespace

const Op kDiagonals{.name = "diagonals",
                    .infer = infer,
                    .reference = reference,
                    .dispatch = dispatch,
                    .host = hostKernel,
                    .gradient = gradientOf,
                    .operations = noOperations};
const Op kUndiagonals{.name = "undiagonals",
                      .infer = inferBack,
                      .reference = referenceBack,
                      .dispatch = dispatchBack,
                      .host = hostBack,
                      .gradient = gradientBack,
                      .operations = noOperations};

Tensor diagonals(Tensor x, int64_t keys) {
    return x.graph->add(kDiagonals, {x}, {{"keys", static_cast<double>(keys)}});
}
Tensor undiagonals(Tensor x) { return x.graph->add(kUndiagonals, {x}); }

} // namespace attn
