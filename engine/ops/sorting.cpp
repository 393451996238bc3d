#include "engine/host/order.h"
#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/tensor_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn {
namespace {

// sort_order: also returns a row of scratch ---------------------------------------------------------------------------

constexpr int64_t kBlock = 128; // elements that are ranked by comparing all with all

std::vector<TensorType> inferSort(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "sort_order");
    requireWhole(inputs, "sort_order");
    require(inputs[0].dtype == DType::F32, "sort_order", "integers must be converted to real numbers first");
    const TensorType order{.shape = inputs[0].shape, .dtype = DType::I32};
    return {order, order};
}

void referenceSort(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    std::vector<int64_t> order(static_cast<size_t>(x.columns()));
    for (int64_t row = 0; row < x.rows(); ++row) {
        const auto key = [&](int64_t column) {
            const double value = x.row(row)[column];
            return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
        };
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return key(a) < key(b); });
        std::ranges::copy(order, y.row(row));
    }
}

/// Sorts blocks, then merges ever longer runs. The merges alternate between the result and the scratch, so that the
/// last one writes the result.
std::vector<Dispatch> dispatchSort(const OpTypes& types, const KernelTraits&) {
    const Shape& x = types.inputs[0].shape;
    uint32_t merges = 0;
    for (int64_t block = kBlock; block < x.columns(); block *= 2) ++merges;
    const GridAxis across = groupsOf(x.rowStride(), 64), rows = GridAxis::fixed(u32(x.rows()));
    uint32_t target = merges % 2;
    std::vector<Dispatch> result{{.shader = "ops/sort_blocks",
                                  .bindings = {load4(0), writeOutput(target)},
                                  .push = {u32(x.columns()), u32(kBlock)},
                                  .x = across,
                                  .y = rows}};
    for (int64_t block = kBlock; block < x.columns(); block *= 2) {
        const Binding sorted{Access::Read, true, target};
        target = 1 - target;
        result.push_back({.shader = "ops/sort_merge",
                          .bindings = {readInput(0), sorted, writeOutput(target)},
                          .push = {u32(x.columns()), u32(block)},
                          .x = across,
                          .y = rows,
                          .barrierBefore = true});
    }
    return result;
}

constexpr int64_t kNumbersForThread = 1 << 10; // numbers that make another thread worthwhile

HostKernel hostSort(const OpTypes& types) {
    return [x = types.inputs[0].shape](const HostRun& run) {
        run.pool.ranges(x.rows(), kNumbersForThread / x.columns() + 1, 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                int32_t* order = run.integerOutput(0) + row * x.rowStride();
                host::sortOrder(x.columns(), run.inputs[0] + row * x.rowStride(), order);
                std::fill(order + x.columns(), order + x.rowStride(), 0);
            }
        });
    };
}

/// The number of comparisons: blocks compare all pairs, and merges search each element's place in the other half.
double operationsSort(const OpTypes& types) {
    const Shape& x = types.inputs[0].shape;
    auto each = static_cast<double>(std::min(x.columns(), kBlock));
    for (int64_t block = kBlock; block < x.columns(); block *= 2) each += std::log2(static_cast<double>(block));
    return each * static_cast<double>(x.elements());
}

// inverse_order ------------------------------------------------------------------------------------------------------

std::vector<TensorType> inferInverse(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "inverse_order");
    requireWhole(inputs, "inverse_order");
    require(inputs[0].dtype == DType::I32, "inverse_order", "an order must hold integers");
    return {inputs[0]};
}

void referenceInverse(const ReferenceCall& call) {
    const ReferenceTensor &order = call.inputs[0], &y = call.outputs[0];
    for (int64_t row = 0; row < order.rows(); ++row)
        for (int64_t i = 0; i < order.columns(); ++i) {
            const auto target = static_cast<int64_t>(order.row(row)[i]);
            if (target >= 0 && target < order.columns()) y.row(row)[target] = static_cast<double>(i);
        }
}

std::vector<Dispatch> dispatchInverse(const OpTypes& types, const KernelTraits&) {
    const Shape& order = types.inputs[0].shape;
    return {{.shader = "ops/inverse_order",
             .bindings = {readInput(0), writeOutput(0)},
             .push = {u32(order.columns())},
             .x = groupsOf(order.rowStride(), 64),
             .y = GridAxis::fixed(u32(order.rows()))}};
}

HostKernel hostInverse(const OpTypes& types) {
    return [shape = types.inputs[0].shape](const HostRun& run) {
        run.pool.ranges(shape.rows(), rowsForThread(shape), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int32_t* order = run.integers(0) + row * shape.rowStride();
                int32_t* to = run.integerOutput(0) + row * shape.rowStride();
                std::fill_n(to, shape.rowStride(), 0);
                for (int64_t i = 0; i < shape.columns(); ++i)
                    if (order[i] >= 0 && order[i] < shape.columns()) to[order[i]] = static_cast<int32_t>(i);
            }
        });
    };
}

} // namespace

const Op kSortOrder{.name = "sort_order",
                    .infer = inferSort,
                    .reference = referenceSort,
                    .dispatch = dispatchSort,
                    .host = hostSort,
                    .operations = operationsSort};
const Op kInverseOrder{.name = "inverse_order",
                       .infer = inferInverse,
                       .reference = referenceInverse,
                       .dispatch = dispatchInverse,
                       .host = hostInverse,
                       .operations = noOperations};

Tensor sortOrder(Tensor x) { return x.graph->add(kSortOrder, {x}); }
Tensor inverseOrder(Tensor order) { return order.graph->add(kInverseOrder, {order}); }

} // namespace attn
