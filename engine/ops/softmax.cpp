#include "engine/host/pool.h"
#include "engine/host/rows.h"
#include "engine/ops/definitions.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 1, "softmax");
    return {inputs[0]};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &y = call.outputs[0];
    for (int64_t row = 0; row < x.rows(); ++row) {
        const double maximum = *std::max_element(x.row(row), x.row(row) + x.columns());
        if (maximum <= kMasked) {
            const bool isDamaged = std::any_of(x.row(row), x.row(row) + x.columns(),
                                               [](double score) { return !(score >= 10 * kMasked); });
            if (isDamaged) std::fill_n(y.row(row), x.columns(), std::numeric_limits<double>::quiet_NaN());
            continue;
        }
        double sum = 0;
        for (int64_t c = 0; c < x.columns(); ++c) sum += y.row(row)[c] = std::exp(x.row(row)[c] - maximum);
        for (int64_t c = 0; c < x.columns(); ++c) y.row(row)[c] /= sum;
    }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    const TensorType& out = types.outputs[0];
    const uint32_t rowsPerGroup = 4;
    return {{.shader = "ops/softmax",
             .bindings = {load4(0), writeOutput(0)},
             .push = {u32(out.shape.rows()), u32(out.shape.columns()), u32(unitOf(out.shape) / out.shape.rowStride()),
                      liveSlot(out)},
             .specialisation = {traits.subgroupSize, rowsPerGroup},
             .x = GridAxis::fixed(u32((out.shape.rows() + rowsPerGroup - 1) / rowsPerGroup))}};
}

HostKernel hostKernel(const OpTypes& types) {
    return [out = types.outputs[0]](const HostRun& run) {
        const int64_t stride = out.shape.rowStride();
        run.pool.ranges(liveRowsOf(out, run.step), rowsForThread(out.shape), 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row)
                host::softmax(out.shape.columns(), kMasked, run.inputs[0] + row * stride,
                              run.outputs[0] + row * stride);
        });
    };
}

std::vector<Tensor> gradientSoftmax(const GradientCall& call) {
    return {call.graph.add(kSoftmaxGradient, {call.outputs[0], call.outputGradients[0]})};
}

double operations(const OpTypes& types) {
    return kSoftmaxOperations * static_cast<double>(types.outputs[0].shape.elements());
}

// softmax_gradient: y, dy --------------------------------------------------------------------------------------------

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 2, "softmax_gradient");
    requireWhole(inputs, "softmax_gradient");
    return {inputs[0]};
}

void referenceGradient(const ReferenceCall& call) {
    const ReferenceTensor &y = call.inputs[0], &dy = call.inputs[1];
    for (int64_t row = 0; row < y.rows(); ++row) {
        double product = 0;
        for (int64_t c = 0; c < y.columns(); ++c) product += y.row(row)[c] * dy.row(row)[c];
        for (int64_t c = 0; c < y.columns(); ++c)
            call.outputs[0].row(row)[c] = y.row(row)[c] * (dy.row(row)[c] - product);
    }
}

std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits& traits) {
    const Shape& y = types.inputs[0].shape;
    constexpr uint32_t kRowsPerGroup = 4;
    return {{.shader = "ops/softmax_gradient",
             .bindings = {load4(0), load4(1), writeOutput(0)},
             .push = {u32(y.rows()), u32(y.columns())},
             .specialisation = {traits.subgroupSize, kRowsPerGroup},
             .x = groupsOf(y.rows(), kRowsPerGroup)}};
}

HostKernel hostGradient(const OpTypes& types) {
    return [y = types.inputs[0].shape](const HostRun& run) {
        run.pool.ranges(y.rows(), rowsForThread(y), 1, [&](int64_t begin, int64_t end) {
            for (int64_t at = begin * y.rowStride(); at < end * y.rowStride(); at += y.rowStride())
                host::softmaxGradient(y.columns(), run.inputs[0] + at, run.inputs[1] + at, run.outputs[0] + at);
        });
    };
}

/// A dot product of the rows, a subtraction and a multiplication.
double operationsGradient(const OpTypes& types) { return 4 * static_cast<double>(types.outputs[0].shape.elements()); }

} // namespace

const Op kSoftmax{.name = "softmax",
                  .infer = infer,
                  .reference = reference,
                  .dispatch = dispatch,
                  .host = hostKernel,
                  .gradient = gradientSoftmax,
                  .operations = operations};
const Op kSoftmaxGradient{.name = "softmax_gradient",
                          .infer = inferGradient,
                          .reference = referenceGradient,
                          .dispatch = dispatchGradient,
                          .host = hostGradient,
                          .operations = operationsGradient};

Tensor softmax(Tensor x) { return x.graph->add(kSoftmax, {x}); }

} // namespace attn
