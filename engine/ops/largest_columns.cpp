#include "engine/host/clusters.h"
#include "engine/host/pool.h"
#include "engine/ops/cluster_attention.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attn {
namespace {

std::vector<TensorType> inferLargest(std::span<const TensorType> inputs, const Attributes& attributes) {
    requireInputs(inputs, 2, "largest_columns");
    requireWhole(inputs, "largest_columns");
    const Shape &x = inputs[0].shape, &factor = inputs[1].shape;
    const int64_t count = attributes.integer("count");
    std::vector<int64_t> extents = x.extents();
    require(x.rank() >= 2 && count >= 1 && count <= x.columns(), "largest_columns",
            fmt::format("{} columns of {}", count, x.text()));
    extents.back() = count;
    std::vector<int64_t> ofFactor = x.extents();
    ofFactor.erase(ofFactor.end() - 2);
    require(factor.extents() == ofFactor, "largest_columns",
            fmt::format("x {} needs a factor [N...,C], not {}", x.text(), factor.text()));
    return {{.shape = Shape(extents), .dtype = DType::I32}};
}

void referenceLargest(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &factor = call.inputs[1], &y = call.outputs[0];
    std::vector<int64_t> order(static_cast<size_t>(x.columns()));
    for (int64_t row = 0; row < x.rows(); ++row) {
        const auto key = [&](int64_t column) {
            const double value = x.row(row)[column] * factor.row(row / x.shape[-2])[column];
            return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
        };
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return key(a) > key(b); });
        std::sort(order.begin(), order.begin() + y.columns());
        std::copy_n(order.begin(), y.columns(), y.row(row));
    }
}

std::vector<Dispatch> dispatchLargest(const OpTypes& types, const KernelTraits&) {
    const Shape &x = types.inputs[0].shape, &y = types.outputs[0].shape;
    return {{.shader = "ops/largest_columns",
             .bindings = {load4(0), load4(1), writeOutput(0)},
             .push = {u32(x.columns()), u32(y.columns()), u32(y.rowStride()), u32(x[-2])},
             .x = groupsOf(x.rows(), 1)}};
}

HostKernel hostLargest(const OpTypes& types) {
    return [x = types.inputs[0].shape, y = types.outputs[0].shape,
            step = types.inputs[1].shape.rowStride()](const HostRun& run) {
        run.pool.ranges(x.rows(), rowsForThread(x), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row)
                host::largestColumns(x.columns(), y.columns(), run.inputs[0] + row * x.rowStride(),
                                     run.inputs[1] + row / x[-2] * step, run.integerOutput(0) + row * y.rowStride());
        });
    };
}

/// The operations: the products, seven comparisons for each three of the 32 bits of a number, and two to list the
/// columns.
double operationsLargest(const OpTypes& types) { return 80 * static_cast<double>(types.inputs[0].shape.elements()); }

} // namespace

const Op kLargestColumns{.name = "largest_columns",
                         .infer = inferLargest,
                         .reference = referenceLargest,
                         .dispatch = dispatchLargest,
                         .host = hostLargest,
                         .operations = operationsLargest};

Tensor largestColumns(Tensor x, Tensor factor, int64_t count) {
    return x.graph->add(kLargestColumns, {x, factor}, {{"count", static_cast<double>(count)}});
}

} // namespace attn
