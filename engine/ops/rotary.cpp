#include "engine/ops/definitions.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

#include <algorithm>

namespace attn {
namespace {

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    requireInputs(inputs, 3, "rotary");
    const Shape &x = inputs[0].shape, &table = inputs[1].shape;
    require(
        x.rank() == 3 && table.rank() == 2 && table[1] % 2 == 0 && table[1] <= x[2], "rotary",
        fmt::format("x {} must be [T,H,D] and the table {} [P,R] with R even and at most D", x.text(), table.text()));
    require(inputs[2].dtype == DType::I32 && inputs[2].shape == Shape{x[0]}, "rotary", "positions must be I32 [T]");
    return {inputs[0]};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor &x = call.inputs[0], &table = call.inputs[1], &y = call.outputs[0];
    const bool interleaved = call.attributes.flag("interleaved");
    const double turn = call.attributes.flag("isInverse") ? -1 : 1;
    const int64_t heads = x.shape[1], rotated = table.columns(), half = rotated / 2;
    for (int64_t row = 0; row < x.rows(); ++row) {
        const double* angles = table.row(static_cast<int64_t>(call.inputs[2].data[row / heads]));
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

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits&) {
    const TensorType& out = types.outputs[0];
    return {{.shader = "ops/rotary",
             .bindings = {readInput(0), readInput(1), readInput(2), writeOutput(0)},
             .push = {u32(out.shape.paddedElements()), u32(unitOf(out.shape)), u32(out.shape.rowStride()),
                      u32(types.inputs[1].shape[1]), u32(types.inputs[1].shape.rowStride()),
                      types.attributes.flag("interleaved") ? 1u : 0u, liveSlot(out),
                      pushFloat(types.attributes.flag("isInverse") ? -1 : 1)},
             .x = GridAxis::fixed(u32((out.shape.paddedElements() + 63) / 64))}};
}

/// A rotation's transpose is the rotation back; cosines and sines that are scaled stay scaled.
std::vector<Tensor> gradientRotary(const GradientCall& call) {
    Attributes attributes = call.attributes;
    attributes.set("isInverse", attributes.flag("isInverse") ? 0 : 1);
    return {call.graph.add(kRotary, {call.outputGradients[0], call.inputs[1], call.inputs[2]}, attributes), {}, {}};
}

} // namespace

const Op kRotary{
    .name = "rotary", .infer = infer, .reference = reference, .dispatch = dispatch, .gradient = gradientRotary};

Tensor rotary(Tensor x, Tensor table, Tensor positions, bool interleaved) {
    return x.graph->add(kRotary, {x, table, positions}, {{"interleaved", interleaved ? 1 : 0}, {"isInverse", 0}});
}

} // namespace attn
