#include "engine/host/elementwise.h"
#include "engine/host/pool.h"
#include "engine/host/reduce.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"
#include "engine/ops/walk.h"

#include <algorithm>

namespace attn {
namespace {

/// The extents before the last `count` axes.
std::vector<int64_t> leading(const Shape& shape, int count) {
    return {shape.extents().begin(), shape.extents().end() - count};
}

void requireIds(std::span<const TensorType> inputs, std::string_view op) {
    requireInputs(inputs, 2, op);
    requireWhole(inputs, op);
    const Shape &x = inputs[0].shape, &ids = inputs[1].shape;
    require(inputs[0].dtype == DType::F32 && inputs[1].dtype == DType::I32 && x.rank() == ids.rank() + 1 &&
                leading(x, 2) == leading(ids, 1),
            op, fmt::format("x {} must be [N...,rows,C] of ids I32 [N...,R], here {}", x.text(), ids.text()));
}

/// The shape of x with another number of rows (the axis before the last).
Shape withRows(const Shape& x, int64_t rows) {
    std::vector<int64_t> extents = x.extents();
    extents[extents.size() - 2] = rows;
    return Shape(extents);
}

// take: x, ids -------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferTake(std::span<const TensorType> inputs, const Attributes&) {
    requireIds(inputs, "take");
    return {{.shape = withRows(inputs[0].shape, inputs[1].shape.columns())}};
}

void referenceTake(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &ids = call.inputs[1], &y = call.outputs[0];
    const int64_t S = x.shape[-2];
    for (int64_t n = 0; n < ids.rows(); ++n)
        for (int64_t r = 0; r < ids.columns(); ++r) {
            const auto id = static_cast<int64_t>(ids.row(n)[r]);
            if (id >= 0 && id < S) std::copy_n(x.row(n * S + id), x.columns(), y.row(n * ids.columns() + r));
        }
}

std::vector<Dispatch> dispatchTake(const OpTypes& types, const KernelTraits&) {
    const Shape &x = types.inputs[0].shape, &ids = types.inputs[1].shape;
    const uint32_t vectors = u32(x.rowStride() / 4), choices = u32(x[-2]), R = u32(ids.columns()), N = u32(ids.rows());
    const uint32_t stride = u32(ids.rowStride());
    // The longer of both axes goes along x, where a grid may have any length.
    std::vector<uint32_t> push =
        N > R ? std::vector<uint32_t>{N, 0, R * vectors, vectors, 0, 0, stride, 1, 0, 0, choices * vectors, 0, 0}
              : std::vector<uint32_t>{R, 0, vectors, R * vectors, 0, 0, 1, stride, 0, 0, 0, choices * vectors, 0};
    push.insert(push.end(), {vectors, choices});
    const RowGrid grid = rowGrid(std::max(N, R), std::min(N, R), 1, vectors);
    return {{.shader = "ops/take",
             .bindings = {load4(0), readInput(1), writeOutput(0)},
             .push = push,
             .specialisation = {grid.lanes},
             .x = grid.x,
             .y = grid.y,
             .z = grid.z}};
}

HostKernel hostTake(const OpTypes& types) {
    return [x = types.inputs[0].shape, ids = types.inputs[1].shape](const HostRun& run) {
        const int64_t stride = x.rowStride(), R = ids.columns(), S = x[-2];
        run.pool.ranges(ids.rows() * R, rowsForThread(x), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t n = row / R, id = run.integers(1)[n * ids.rowStride() + row % R];
                float* to = run.outputs[0] + row * stride;
                if (id >= 0 && id < S)
                    std::copy_n(run.inputs[0] + (n * S + id) * stride, stride, to);
                else
                    std::fill_n(to, stride, 0.0f);
            }
        });
    };
}

std::vector<Tensor> gradientTake(const GradientCall& call) {
    return {put(call.outputGradients[0], call.inputs[1], call.inputs[0].shape()[-2]), {}};
}

// put: x, ids --------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferPut(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireIds(inputs, "put");
    require(inputs[0].shape[-2] == inputs[1].shape.columns(), "put",
            fmt::format("x {} must have a row for each of the ids {}", inputs[0].shape.text(), inputs[1].shape.text()));
    return {{.shape = withRows(inputs[0].shape, attributes.integer("rows"))}};
}

void referencePut(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &ids = call.inputs[1], &y = call.outputs[0];
    const int64_t S = y.shape[-2];
    for (int64_t n = 0; n < ids.rows(); ++n)
        for (int64_t r = 0; r < ids.columns(); ++r) {
            const auto id = static_cast<int64_t>(ids.row(n)[r]);
            for (int64_t c = 0; c < x.columns() && id >= 0 && id < S; ++c)
                y.row(n * S + id)[c] += x.row(n * ids.columns() + r)[c];
        }
}

std::vector<Dispatch> dispatchPut(const OpTypes& types, const KernelTraits& traits) {
    const Shape &ids = types.inputs[1].shape, &out = types.outputs[0].shape;
    constexpr int64_t kMost = 4096; // fours of ids per launch, even if all are the same
    const int64_t vectors = out.rowStride() / 4, fours = ids.rowStride() / 4;
    std::vector<Dispatch> result;
    for (int64_t first = 0; first < fours; first += kMost)
        result.push_back(
            {.shader = "ops/put",
             .bindings = {load4(0), readInput(1), writeOutput(0)},
             .push = {u32(ids.columns()), u32(vectors), u32(out[-2]), u32(first), u32(std::min(first + kMost, fours))},
             .specialisation = {traits.subgroupSize, 1},
             .x = GridAxis::fixed(u32(out[-2])),
             .y = groupsOf(vectors, traits.subgroupSize),
             .z = GridAxis::fixed(u32(ids.rows())),
             .barrierBefore = first > 0});
    return result;
}

/// Each thread adds sets of rows or columns of its own, so rows with the same id are added in a fixed order.
HostKernel hostPut(const OpTypes& types) {
    return
        [x = types.inputs[0].shape, ids = types.inputs[1].shape, S = types.outputs[0].shape[-2]](const HostRun& run) {
            const int64_t stride = x.rowStride(), R = ids.columns(), N = ids.rows();
            const auto put = [&](int64_t n, int64_t begin, int64_t end) {
                float* out = run.outputs[0] + n * S * stride;
                for (int64_t row = 0; row < S; ++row)
                    std::fill(out + row * stride + begin, out + row * stride + end, 0.0f);
                for (int64_t r = 0; r < R; ++r) {
                    const int64_t id = run.integers(1)[n * ids.rowStride() + r];
                    if (id < 0 || id >= S) continue;
                    float* row = out + id * stride + begin;
                    host::add(end - begin, row, run.inputs[0] + (n * R + r) * stride + begin, row);
                }
            };
            if (N >= run.pool.threads())
                return run.pool.ranges(N, kVectorsForThread * 4 / (R * stride) + 1, 1, [&](int64_t begin, int64_t end) {
                    for (int64_t n = begin; n < end; ++n) put(n, 0, stride);
                });
            for (int64_t n = 0; n < N; ++n)
                run.pool.ranges(stride, std::max<int64_t>(kVectorsForThread * 4 / (R + S), 16), 16,
                                [&](int64_t begin, int64_t end) { put(n, begin, end); });
        };
}

std::vector<Tensor> gradientPut(const GradientCall& call) {
    return {take(call.outputGradients[0], call.inputs[1]), {}};
}

// argmax -------------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferArgmax(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "argmax");
    requireWhole(inputs, "argmax");
    require(inputs[0].dtype == DType::F32, "argmax", "integers must be converted to real numbers first");
    const Shape& x = inputs[0].shape;
    return {{.shape = x.rank() == 1 ? Shape{1} : Shape(leading(x, 1)), .dtype = DType::I32}};
}

void referenceArgmax(const ReferenceCall& call) {
    const ReferenceTensor& x = call.inputs[0];
    forEach(call.outputs[0], [&](int64_t row, int64_t column) {
        const double* values = x.row(row * call.outputs[0].columns() + column);
        return static_cast<double>(std::max_element(values, values + x.columns()) - values);
    });
}

std::vector<Dispatch> dispatchArgmax(const OpTypes& types, const KernelTraits&) {
    const Shape& out = types.outputs[0].shape;
    return {{.shader = "ops/argmax",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(out.columns()), u32(types.inputs[0].shape.columns()), u32(out.rowStride())},
             .x = groupsOf(out.rowStride(), 64),
             .y = GridAxis::fixed(u32(out.rows()))}};
}

HostKernel hostArgmax(const OpTypes& types) {
    return [x = types.inputs[0].shape, out = types.outputs[0].shape](const HostRun& run) {
        run.pool.ranges(
            out.rows(), rowsForThread(Shape{out.columns() * x.rowStride()}), 1, [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                    int32_t* to = run.integerOutput(0) + row * out.rowStride();
                    for (int64_t i = 0; i < out.columns(); ++i)
                        to[i] = host::argmax(x.columns(), run.inputs[0] + (row * out.columns() + i) * x.rowStride());
                    std::fill(to + out.columns(), to + out.rowStride(), 0);
                }
            });
    };
}

} // namespace

const Op kTake{.name = "take",
               .infer = inferTake,
               .reference = referenceTake,
               .dispatch = dispatchTake,
               .host = hostTake,
               .gradient = gradientTake,
               .operations = noOperations};
const Op kPut{.name = "put",
              .infer = inferPut,
              .reference = referencePut,
              .dispatch = dispatchPut,
              .host = hostPut,
              .gradient = gradientPut,
              .operations = oneForEachInput};
const Op kArgmax{.name = "argmax",
                 .infer = inferArgmax,
                 .reference = referenceArgmax,
                 .dispatch = dispatchArgmax,
                 .host = hostArgmax,
                 .operations = oneForEachInput};

Tensor take(Tensor x, Tensor ids) {
    if (x.shape().rank() != 2 || ids.shape().rank() == 1) return x.graph->add(kTake, {x, ids});
    std::vector<int64_t> extents = ids.shape().extents(); // one table for all
    extents.push_back(x.shape()[1]);
    return reshape(take(x, reshape(ids, {ids.shape().elements()})), Shape(extents));
}

Tensor gatherPages(Tensor pages, Tensor table) {
    const Shape &from = pages.shape(), &order = table.shape();
    require(from.rank() == 3 && order.rank() == 2, "gather_pages",
            fmt::format("{} are not pages [P,S,C], or {} is no table [B,L]", from.text(), order.text()));
    const Tensor rows =
        take(reshape(pages, {from[0], from[1] * from[2]}), reshape(table, {order[0] * order[1]})); // [B L, S C]
    return reshape(rows, {order[0], order[1] * from[1], from[2]});
}
Tensor put(Tensor x, Tensor ids, int64_t S) { return x.graph->add(kPut, {x, ids}, {{"rows", static_cast<double>(S)}}); }

Tensor argmax(Tensor x) { return x.graph->add(kArgmax, {x}); }

} // namespace attn
