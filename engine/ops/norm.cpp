#include "engine/ops/definitions.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

#include <cmath>

namespace attn {
namespace {

std::vector<TensorType> infer(std::span<const TensorType> inputs, const Attributes&) {
    require(inputs.size() == 2 || inputs.size() == 3, "norm", "needs x, w and perhaps b");
    for (size_t i = 1; i < inputs.size(); ++i)
        require(inputs[i].shape == Shape{inputs[0].shape.columns()}, "norm",
                fmt::format("parameter {} must be [{}]", inputs[i].shape.text(), inputs[0].shape.columns()));
    return {inputs[0]};
}

void reference(const ReferenceCall& call) {
    const bool centres = call.inputs.size() == 3;
    const ReferenceTensor& x = call.inputs[0];
    const double count = static_cast<double>(x.columns());
    for (int64_t row = 0; row < x.rows(); ++row) {
        double mean = 0, square = 0;
        for (int64_t c = 0; c < x.columns(); ++c) mean += centres ? x.row(row)[c] / count : 0;
        for (int64_t c = 0; c < x.columns(); ++c) square += (x.row(row)[c] - mean) * (x.row(row)[c] - mean) / count;
        const double factor = 1 / std::sqrt(square + call.attributes.number("epsilon"));
        for (int64_t c = 0; c < x.columns(); ++c)
            call.outputs[0].row(row)[c] = (x.row(row)[c] - mean) * factor * call.inputs[1].data[c] + (centres ? call.inputs[2].data[c] : 0);
    }
}

std::vector<Dispatch> dispatch(const OpTypes& types, const KernelTraits& traits) {
    const bool centres = types.inputs.size() == 3;
    const TensorType& out = types.outputs[0];
    const uint32_t rowsPerGroup = out.shape.rows() == 1 ? 1 : 4; // idle subgroups run along on software Vulkan
    return {{.shader = "ops/norm",
             .bindings = {load4(0), load4(1), load4(centres ? 2 : 1), writeOutput(0)},
             .push = {u32(out.shape.rows()), u32(out.shape.columns()), u32(unitOf(out.shape) / out.shape.rowStride()), liveSlot(out),
                      pushFloat(types.attributes.number("epsilon"))},
             .specialisation = {traits.subgroupSize, rowsPerGroup, centres ? 1u : 0u},
             .x = GridAxis::fixed(u32((out.shape.rows() + rowsPerGroup - 1) / rowsPerGroup))}};
}

} // namespace

const Op kLayerNorm{.name = "layer_norm", .infer = infer, .reference = reference, .dispatch = dispatch};
const Op kRmsNorm{.name = "rms_norm", .infer = infer, .reference = reference, .dispatch = dispatch};

Tensor layerNorm(Tensor x, Tensor w, Tensor b, double epsilon) { return x.graph->add(kLayerNorm, {x, w, b}, {{"epsilon", epsilon}}); }
Tensor rmsNorm(Tensor x, Tensor w, double epsilon) { return x.graph->add(kRmsNorm, {x, w}, {{"epsilon", epsilon}}); }

} // namespace attn
