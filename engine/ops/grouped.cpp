#include "engine/ops/grouped.h"

#include "engine/host/grouped.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

namespace attn {
namespace {

/// The group of each row, or -1.
std::vector<int64_t> groupsOfRows(const ReferenceTensor& begins, int64_t rows) {
    std::vector<int64_t> groups(static_cast<size_t>(rows), -1);
    for (int64_t group = 0; group + 1 < begins.columns(); ++group)
        for (auto row = static_cast<int64_t>(std::max(begins.data[group], 0.0));
             row < std::min(rows, static_cast<int64_t>(begins.data[group + 1])); ++row)
            groups[static_cast<size_t>(row)] = group;
    return groups;
}

void requireBegins(const TensorType& begins, int64_t groups, std::string_view op) {
    require(begins.dtype == DType::I32 && begins.shape == Shape{groups + 1}, op,
            fmt::format("the begins {} are not whole numbers [{}]", begins.shape.text(), groups + 1));
}

// grouped_matmul: x, w, begins. The attribute "plain": w is [groups,K,N]
// -----------------------------------------------

bool isPlain(const Attributes& attributes) { return attributes.flag("plain"); }

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes& attributes) {
    constexpr std::string_view kOp = "grouped_matmul";
    requireInputs(inputs, 3, kOp);
    requireWhole(inputs, kOp);
    const Shape &x = inputs[0].shape, &w = inputs[1].shape;
    require(x.rank() == 2 && w.rank() == 3 && w[isPlain(attributes) ? 1 : 2] == x[1], kOp,
            fmt::format("rows {} do not fit the matrices {}", x.text(), w.text()));
    requireBegins(inputs[2], w[0], kOp);
    return {{.shape = {x[0], w[isPlain(attributes) ? 2 : 1]}}};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0];
    const std::vector<int64_t> groups = groupsOfRows(call.inputs[2], x.rows());
    forEach(y, [&](int64_t row, int64_t n) {
        const int64_t group = groups[static_cast<size_t>(row)], first = group * w.shape[1];
        double sum = 0;
        for (int64_t k = 0; k < x.columns() && group >= 0; ++k)
            sum += x.row(row)[k] * (isPlain(call.attributes) ? w.row(first + k)[n] : w.row(first + n)[k]);
        return sum;
    });
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const Shape &x = types.inputs[0].shape, &w = types.inputs[1].shape, &y = types.outputs[0].shape;
    const FlatGrid grid(y.paddedElements());
    return {{.shader = "ops/grouped_matmul",
             .bindings = {readInput(0), readInput(1), readInput(2), writeOutput(0)},
             .push = {u32(x[0]), u32(x[1]), u32(y[1]), u32(w[0])},
             .specialisation = {isPlain(types.attributes) ? 1u : 0u},
             .x = grid.x,
             .y = grid.y}};
}

HostKernel hostKernel(const OpTypes& types) {
    return [rows = types.inputs[0].shape, w = types.inputs[1].shape, N = types.outputs[0].shape[1],
            plain = isPlain(types.attributes)](const HostRun& run) {
        host::groupedProduct({.rows = rows[0], .groups = w[0], .begins = run.integers(2)}, rows[1], N, plain,
                             run.inputs[0], run.inputs[1], run.outputs[0], run.pool);
    };
}

double operations(const OpTypes& types) {
    return 2.0 * static_cast<double>(types.outputs[0].shape.elements()) * static_cast<double>(types.inputs[0].shape[1]);
}

std::vector<Tensor> gradient(const GradientCall& call) {
    const Tensor x = call.inputs[0], w = call.inputs[1], begins = call.inputs[2], d = call.outputGradients[0];
    const bool plain = isPlain(call.attributes);
    return {call.graph.add(kGroupedMatmul, {d, w, begins}, {{"plain", plain ? 0 : 1}}),
            call.graph.add(kGroupedMatmulWeightGradient, plain ? std::vector{x, d, begins} : std::vector{d, x, begins},
                           {{"groups", static_cast<double>(w.shape()[0])}}),
            {}};
}

// grouped_matmul_weight_gradient: a [R,N], b [R,K], begins -> [groups,N,K] --------------------------------------------

std::vector<TensorType> inferWeight(std::span<const TensorType> inputs, const Attributes& attributes) {
    constexpr std::string_view kOp = "grouped_matmul_weight_gradient";
    requireInputs(inputs, 3, kOp);
    requireWhole(inputs, kOp);
    const Shape &a = inputs[0].shape, &b = inputs[1].shape;
    require(a.rank() == 2 && b.rank() == 2 && a[0] == b[0], kOp,
            fmt::format("{} and {} do not have the same rows", a.text(), b.text()));
    requireBegins(inputs[2], attributes.integer("groups"), kOp);
    return {{.shape = {attributes.integer("groups"), a[1], b[1]}}};
}

void referenceWeight(const ReferenceCall& call) {
    const ReferenceTensor &a = call.inputs[0], &b = call.inputs[1], &out = call.outputs[0];
    const std::vector<int64_t> groups = groupsOfRows(call.inputs[2], a.rows());
    for (int64_t row = 0; row < a.rows(); ++row)
        for (int64_t n = 0; n < a.columns() && groups[static_cast<size_t>(row)] >= 0; ++n)
            for (int64_t k = 0; k < b.columns(); ++k)
                out.row(groups[static_cast<size_t>(row)] * a.columns() + n)[k] += a.row(row)[n] * b.row(row)[k];
}

/// Launches for parts of the rows. Each continues from the result of the previous one.
std::vector<Dispatch> dispatchWeight(const OpTypes& types, const KernelTraits&) {
    constexpr int64_t kRows = 16384; // software Vulkan ends a loop after 65,535 rounds
    const Shape &a = types.inputs[0].shape, &out = types.outputs[0].shape;
    const FlatGrid grid(out.paddedElements());
    std::vector<Dispatch> list;
    for (int64_t first = 0; first < a[0]; first += kRows)
        list.push_back({.shader = "ops/grouped_matmul_weight_gradient",
                        .bindings = {readInput(0), readInput(1), readInput(2), writeOutput(0)},
                        .push = {u32(out.paddedElements()), u32(out[1]), u32(out[2]), u32(first),
                                 u32(std::min(first + kRows, a[0]))},
                        .x = grid.x,
                        .y = grid.y,
                        .barrierBefore = first > 0});
    return list;
}

HostKernel hostWeight(const OpTypes& types) {
    return [rows = types.inputs[0].shape[0], out = types.outputs[0].shape](const HostRun& run) {
        host::groupedSquare({.rows = rows, .groups = out[0], .begins = run.integers(2)}, out[1], out[2], run.inputs[0],
                            run.inputs[1], run.outputs[0], run.pool);
    };
}

double operationsWeight(const OpTypes& types) {
    return 2.0 * static_cast<double>(types.inputs[0].shape.elements()) * static_cast<double>(types.inputs[1].shape[1]);
}

} // namespace

const Op kGroupedMatmul{.name = "grouped_matmul",
                        .infer = infer,
                        .reference = reference,
                        .dispatch = dispatch,
                        .host = hostKernel,
                        .gradient = gradient,
                        .operations = operations};
const Op kGroupedMatmulWeightGradient{.name = "grouped_matmul_weight_gradient",
                                      .infer = inferWeight,
                                      .reference = referenceWeight,
                                      .dispatch = dispatchWeight,
                                      .host = hostWeight,
                                      .operations = operationsWeight};

Tensor groupedMatmul(Tensor x, Tensor w, Tensor begins) {
    return x.graph->add(kGroupedMatmul, {x, w, begins}, {{"plain", 0}});
}

Tensor groupBegins(Tensor groups, int64_t count) {
    const Tensor ids = reshape(toReal(groups), {1, groups.shape().elements()}),
                 numbers = cumulativeSum(fill(*groups.graph, {count + 1, 1}, 1), 0, {.exclusive = true});
    return toInteger(reshape(reduce(binary(ids, numbers, Binary::Less), Reduction::Sum, {-1}), {count + 1}));
}

} // namespace attn
