#include "engine/host/pool.h"
#include "engine/ops/definitions.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 4, "rotary");
    const Shape &table = inputs[2].shape, &positions = inputs[3].shape;
    for (const TensorType& input : inputs.first(2)) {
        const Shape& x = input.shape;
        require(x.rank() == 3 && table.rank() == 2 && table[1] % 2 == 0 && table[1] <= x[2], "rotary",
                fmt::format("x {} must be [T,H,D] and the table {} [P,R] with R even and at most D", x.text(),
                            table.text()));
        require(inputs[3].dtype == DType::I32 && positions == Shape{x[0]}, "rotary", "positions must be I32 [T]");
    }
    require(inputs[0].shape[2] == inputs[1].shape[2] && inputs[0].liveRows == inputs[1].liveRows, "rotary",
            fmt::format("q {} and k {} must have the same D and live length", inputs[0].shape.text(),
                        inputs[1].shape.text()));
    return {inputs[0], inputs[1]};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &table = call.inputs[2], &positions = call.inputs[3];
    const bool interleaved = call.attributes.flag("interleaved");
    const double turn = call.attributes.flag("isInverse") ? -1 : 1;
    const int64_t rotated = table.columns(), half = rotated / 2;
    for (size_t n = 0; n < 2; ++n) {
        const ReferenceTensor &x = call.inputs[n], &y = call.outputs[n];
        for (int64_t row = 0; row < x.rows(); ++row) {
            const double* angles = table.row(static_cast<int64_t>(positions.data[row / x.shape[1]]));
            const double* in = x.row(row);
            double* out = y.row(row);
            std::copy_n(in, x.columns(), out);
            for (int64_t i = 0; i < half; ++i) {
                const int64_t a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + half;
                out[a] = in[a] * angles[i] - turn * in[b] * angles[half + i];
                out[b] = in[b] * angles[i] + turn * in[a] * angles[half + i];
            }
        }
    }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const TensorType &q = types.outputs[0], &k = types.outputs[1];
    const Shape& table = types.inputs[2].shape;
    const FlatGrid grid(q.shape.paddedElements() + k.shape.paddedElements());
    return {{.shader = "ops/rotary",
             .bindings = {readInput(0), readInput(1), readInput(2), readInput(3), writeOutput(0), writeOutput(1)},
             .push = {u32(q.shape.paddedElements()), u32(k.shape.paddedElements()), u32(q.shape[0]),
                      u32(q.shape.rowStride()), u32(table[1]), u32(table.rowStride()),
                      types.attributes.flag("interleaved") ? 1u : 0u, liveSlot(q),
                      pushFloat(types.attributes.flag("isInverse") ? -1 : 1)},
             .x = grid.x,
             .y = grid.y}};
}

HostKernel hostKernel(const OpTypes& types) {
    const bool interleaved = types.attributes.flag("interleaved");
    const float turn = types.attributes.flag("isInverse") ? -1 : 1;
    const std::array heads{types.outputs[0].shape[1], types.outputs[1].shape[1]};
    return [=, out = types.outputs[0], table = types.inputs[2].shape](const HostRun& run) {
        const int64_t stride = out.shape.rowStride(), half = table.columns() / 2;
        TensorType tokens{.shape = {out.shape[0], 1}, .liveRows = out.liveRows};
        run.pool.ranges(liveRowsOf(tokens, run.step), rowsForThread(Shape{(heads[0] + heads[1]) * stride}), 1,
                        [&](int64_t begin, int64_t end) {
                            for (int64_t t = begin; t < end; ++t) {
                                const float* cosines = run.inputs[2] + run.integers(3)[t] * table.rowStride();
                                const float* sines = cosines + half;
                                for (size_t n = 0; n < 2; ++n)
                                    for (int64_t row = t * heads[n]; row < (t + 1) * heads[n]; ++row) {
                                        const float* in = run.inputs[n] + row * stride;
                                        float* to = run.outputs[n] + row * stride;
                                        if (interleaved)
                                            for (int64_t i = 0; i < half; ++i) {
                                                const float a = in[2 * i], b = in[2 * i + 1];
                                                to[2 * i] = a * cosines[i] - turn * b * sines[i];
                                                to[2 * i + 1] = b * cosines[i] + turn * a * sines[i];
                                            }
                                        else
                                            for (int64_t i = 0; i < half; ++i) {
                                                const float a = in[i], b = in[i + half];
                                                to[i] = a * cosines[i] - turn * b * sines[i];
                                                to[i + half] = b * cosines[i] + turn * a * sines[i];
                                            }
                                        std::copy(in + 2 * half, in + stride, to + 2 * half);
                                    }
                            }
                        });
    };
}

/// Two multiplications and an addition for each feature that is rotated.
double operations(const OpTypes& types) {
    const auto heads = types.inputs[0].shape.rows() + types.inputs[1].shape.rows();
    return 3 * static_cast<double>(heads * types.inputs[2].shape.columns());
}

/// A rotation's transpose is the rotation back; cosines and sines that are scaled stay scaled.
std::vector<Tensor> gradientRotary(const GradientCall& call) {
    Attributes attributes = call.attributes;
    attributes.set("isInverse", attributes.flag("isInverse") ? 0 : 1);
    const auto flowing = [&](size_t n) {
        return call.outputGradients[n] ? call.outputGradients[n] : fill(call.graph, call.outputs[n].shape(), 0);
    };
    const Tensor dq = call.graph.add(kRotary, {flowing(0), flowing(1), call.inputs[2], call.inputs[3]}, attributes);
    return {dq, {dq.graph, dq.node, 1}, {}, {}};
}

} // namespace

const Op kRotary{.name = "rotary",
                 .infer = infer,
                 .reference = reference,
                 .dispatch = dispatch,
                 .host = hostKernel,
                 .gradient = gradientRotary,
                 .operations = operations};

Rotated rotary(Tensor q, Tensor k, Tensor table, Tensor positions, bool interleaved) {
    const Tensor first =
        q.graph->add(kRotary, {q, k, table, positions}, {{"interleaved", interleaved ? 1 : 0}, {"isInverse", 0}});
    return {first, {first.graph, first.node, 1}};
}

} // namespace attn
