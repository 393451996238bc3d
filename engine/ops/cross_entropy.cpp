#include "engine/host/pool.h"
#include "engine/host/rows.h"
#include "engine/ops/definitions.h"
#include "engine/ops/rules.h"
#include "engine/ops/training_ops.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 3, "cross_entropy");
    requireWhole(inputs, "cross_entropy");
    const Shape rows{inputs[0].shape.rows()};
    require(inputs[1].shape == rows && inputs[1].dtype == DType::I32 && inputs[2].shape == rows, "cross_entropy",
            fmt::format("logits {} need I32 targets and weights of {}, not {} and {}", inputs[0].shape.text(),
                        rows.text(), inputs[1].shape.text(), inputs[2].shape.text()));
    return {{.shape = rows}};
}

/// log of the sum of exp over a row.
double logSum(const double* row, int64_t columns) {
    const double maximum = *std::max_element(row, row + columns);
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += std::exp(row[c] - maximum);
    return maximum + std::log(sum);
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& logits = call.inputs[0];
    const double smoothing = call.attributes.number("smoothing");
    for (int64_t m = 0; m < logits.rows(); ++m) {
        const auto target = static_cast<int64_t>(call.inputs[1].data[m]);
        if (target < 0) continue;
        const double all = logSum(logits.row(m), logits.columns());
        double mean = 0;
        for (int64_t c = 0; c < logits.columns(); ++c)
            mean += (logits.row(m)[c] - all) / static_cast<double>(logits.columns());
        const double own = target < logits.columns() ? logits.row(m)[target] - all : 0;
        call.outputs[0].data[m] = -call.inputs[2].data[m] * ((1 - smoothing) * own + smoothing * mean);
    }
}

constexpr uint32_t kRowsPerGroup = 4;

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    const Shape& logits = types.inputs[0].shape;
    return {{.shader = "ops/cross_entropy",
             .bindings = {load4(0), readInput(1), readInput(2), writeOutput(0)},
             .push = {u32(logits.rows()), u32(logits.columns()), pushFloat(types.attributes.number("smoothing"))},
             .specialisation = {traits.subgroupSize, kRowsPerGroup},
             .x = groupsOf(logits.rows() + 3, kRowsPerGroup)}};
}

HostKernel hostKernel(const OpTypes& types) {
    const auto smoothing = static_cast<float>(types.attributes.number("smoothing"));
    return [=, logits = types.inputs[0].shape](const HostRun& run) {
        run.pool.ranges(logits.rows(), rowsForThread(logits), 1, [&](int64_t begin, int64_t end) {
            for (int64_t m = begin; m < end; ++m) {
                const int64_t target = run.integers(1)[m];
                run.outputs[0][m] = target < 0
                                        ? 0
                                        : host::crossEntropy(logits.columns(), run.inputs[0] + m * logits.rowStride(),
                                                             target, run.inputs[2][m], smoothing);
            }
        });
        std::fill(run.outputs[0] + logits.rows(), run.outputs[0] + Shape{logits.rows()}.rowStride(), 0.0f);
    };
}

std::vector<Tensor> gradient(const GradientCall& call) {
    return {call.graph.add(kCrossEntropyGradient,
                           {call.inputs[0], call.inputs[1], call.inputs[2], call.outputGradients[0]}, call.attributes),
            {},
            {}};
}

// cross_entropy_gradient: logits, targets, weights, dLosses -----------------------------------------------------------

std::vector<TensorType> inferGradient(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 4, "cross_entropy_gradient");
    requireWhole(inputs, "cross_entropy_gradient");
    return {inputs[0]};
}

void referenceGradient(const ReferenceCall& call) {
    const ReferenceTensor& logits = call.inputs[0];
    const double smoothing = call.attributes.number("smoothing");
    for (int64_t m = 0; m < logits.rows(); ++m) {
        const auto target = static_cast<int64_t>(call.inputs[1].data[m]);
        if (target < 0) continue;
        const double all = logSum(logits.row(m), logits.columns());
        for (int64_t c = 0; c < logits.columns(); ++c) {
            const double wanted = (c == target ? 1 - smoothing : 0) + smoothing / static_cast<double>(logits.columns());
            call.outputs[0].row(m)[c] =
                call.inputs[2].data[m] * call.inputs[3].data[m] * (std::exp(logits.row(m)[c] - all) - wanted);
        }
    }
}

std::vector<Dispatch> dispatchGradient(const OpTypes& types, const KernelTraits& traits) {
    const Shape& logits = types.inputs[0].shape;
    return {{.shader = "ops/cross_entropy_gradient",
             .bindings = {load4(0), readInput(1), readInput(2), readInput(3), writeOutput(0)},
             .push = {u32(logits.rows()), u32(logits.columns()), pushFloat(types.attributes.number("smoothing"))},
             .specialisation = {traits.subgroupSize, kRowsPerGroup},
             .x = groupsOf(logits.rows(), kRowsPerGroup)}};
}

HostKernel hostGradient(const OpTypes& types) {
    const auto smoothing = static_cast<float>(types.attributes.number("smoothing"));
    return [=, logits = types.inputs[0].shape](const HostRun& run) {
        run.pool.ranges(logits.rows(), rowsForThread(logits), 1, [&](int64_t begin, int64_t end) {
            for (int64_t m = begin; m < end; ++m) {
                const int64_t target = run.integers(1)[m], at = m * logits.rowStride();
                if (target < 0)
                    std::fill_n(run.outputs[0] + at, logits.rowStride(), 0.0f);
                else
                    host::crossEntropyGradient(logits.columns(), run.inputs[0] + at, target,
                                               run.inputs[2][m] * run.inputs[3][m], smoothing, run.outputs[0] + at);
            }
        });
    };
}

} // namespace

const Op kCrossEntropy{.name = "cross_entropy",
                       .infer = infer,
                       .reference = reference,
                       .dispatch = dispatch,
                       .host = hostKernel,
                       .gradient = gradient};
const Op kCrossEntropyGradient{.name = "cross_entropy_gradient",
                               .infer = inferGradient,
                               .reference = referenceGradient,
                               .dispatch = dispatchGradient,
                               .host = hostGradient};

Tensor crossEntropy(Tensor logits, Tensor targets, Tensor weights, double smoothing) {
    return logits.graph->add(kCrossEntropy, {logits, targets, weights}, {{"smoothing", smoothing}});
}

} // namespace attn
