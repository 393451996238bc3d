#include "engine/attention/block/block_flow.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/ops.h"

#include <algorithm>
#include <cmath>

namespace attn {

Tensor BlockFlow::parameter(const std::string& name, Shape shape, InitialValue initial) {
    const std::string full = weights.empty() ? name : weights + "." + name;
    if (std::ranges::none_of(parameters, [&](const FlowParameter& known) { return known.name == full; }))
        parameters.push_back({full, shape, initial});
    return graph.parameter(full, std::move(shape));
}

namespace {

using namespace terms;

constexpr InitialValue kOne{InitialValue::Kind::One};

/// Calls row(in, out) for every row of x. @return the same shape
template <class Row> Dense byRow(const Dense& x, Row&& row) {
    Dense y(x.extents);
    const auto columns = static_cast<size_t>(x.extents.back());
    for (size_t begin = 0; begin < x.data.size(); begin += columns)
        row(std::span(x.data).subspan(begin, columns), std::span(y.data).subspan(begin, columns));
    return y;
}
double meanSquare(std::span<const double> row) {
    double sum = 0;
    for (double value : row) sum += value * value;
    return sum / static_cast<double>(row.size());
}

// Layer norm and RMS norm --------------------------------------------------------------------------------------------

Tensor buildLayerNorm(BlockFlow& flow, PartValues, const std::string& name, Tensor x) {
    const Tensor w = flow.parameter(name + ".w", {flow.width}, kOne);
    return layerNorm(x, w, flow.parameter(name + ".b", {flow.width}, {}), flow.epsilon);
}
Dense referenceLayerNorm(const BlockReference& flow, PartValues, const std::string& name, const Dense& x) {
    const Dense &w = flow.parameters.at(name + ".w"), &b = flow.parameters.at(name + ".b");
    return byRow(x, [&](std::span<const double> in, std::span<double> out) {
        double mean = 0, variance = 0;
        for (double value : in) mean += value / static_cast<double>(in.size());
        for (double value : in) variance += (value - mean) * (value - mean) / static_cast<double>(in.size());
        for (size_t i = 0; i < in.size(); ++i)
            out[i] = w.data[i] * (in[i] - mean) / std::sqrt(variance + flow.epsilon) + b.data[i];
    });
}

Tensor buildRmsNorm(BlockFlow& flow, PartValues, const std::string& name, Tensor x) {
    return rmsNorm(x, flow.parameter(name + ".w", {flow.width}, kOne), flow.epsilon);
}
Dense referenceRmsNorm(const BlockReference& flow, PartValues, const std::string& name, const Dense& x) {
    const Dense& w = flow.parameters.at(name + ".w");
    return byRow(x, [&](std::span<const double> in, std::span<double> out) {
        for (size_t i = 0; i < in.size(); ++i) out[i] = w.data[i] * in[i] / std::sqrt(meanSquare(in) + flow.epsilon);
    });
}

// Scale norm and FixNorm ---------------------------------------------------------------------------------------------

/// The stored g is the radius divided by sqrt(C), so that it begins at one.
Tensor buildScaleNorm(BlockFlow& flow, PartValues, const std::string& name, Tensor x) {
    const Tensor g = reshape(flow.parameter(name + ".g", {1}, kOne), {1, 1});
    return affine(times(unitRows(x), g), std::sqrt(static_cast<double>(flow.width)), 0);
}
Dense referenceScaleNorm(const BlockReference& flow, PartValues, const std::string& name, const Dense& x) {
    const double g = flow.parameters.at(name + ".g").data[0] * std::sqrt(static_cast<double>(flow.width));
    return byRow(x, [&](std::span<const double> in, std::span<double> out) {
        const double length = std::sqrt(meanSquare(in) * static_cast<double>(in.size()) + 1e-12);
        for (size_t i = 0; i < in.size(); ++i) out[i] = g * in[i] / length;
    });
}

// None ---------------------------------------------------------------------------------------------------------------

Tensor buildNoNorm(BlockFlow&, PartValues, const std::string&, Tensor x) { return x; }
Dense referenceNoNorm(const BlockReference&, PartValues, const std::string&, const Dense& x) { return x; }

constexpr BlockHooks kNoNormHooks{.map = buildNoNorm, .mapReference = referenceNoNorm};
constexpr BlockHooks kLayerNormHooks{.map = buildLayerNorm, .mapReference = referenceLayerNorm};
constexpr BlockHooks kRmsNormHooks{.map = buildRmsNorm, .mapReference = referenceRmsNorm};
constexpr BlockHooks kScaleNormHooks{.map = buildScaleNorm, .mapReference = referenceScaleNorm};
constexpr BlockHooks kFixNormHooks{.map = buildScaleNorm, .mapReference = referenceScaleNorm, .fixesWords = true};

} // namespace

const Part kNoNormPart{
    .id = "none",
    .slot = Slot::Norm,
    .title = "No norm",
    .idea = "Rows go into sublayers as they are. The residual stream grows with every layer and gradients with it, so "
            "deep models need small initial weights and small steps; this part shows what norms are for.",
    .formula = "y = x",
    .source = {"Zhang et al.", 2019, "Fixup Initialization: Residual Learning Without Normalization", "section 2",
               "arXiv:1901.09321"},
    .time = "0",
    .memory = "0",
    .block = &kNoNormHooks};

const Part kLayerNormPart{
    .id = "layer_norm",
    .slot = Slot::Norm,
    .title = "Layer norm",
    .idea = "Shifts and scales the features of every token to mean 0 and variance 1, then applies a learned scale and "
            "bias. Tokens do not depend on each other or on the batch.",
    .formula = "y = w (x - mean(x)) / sqrt(var(x) + eps) + b",
    .source = {"Ba et al.", 2016, "Layer Normalization", "section 3", "arXiv:1607.06450"},
    .time = "O(T C)",
    .memory = "O(C) parameters",
    .block = &kLayerNormHooks};

const Part kRmsNormPart{
    .id = "rms_norm",
    .slot = Slot::Norm,
    .title = "RMS norm",
    .idea = "Layer norm that neither subtracts the mean nor adds a bias: scaling alone is what helps training. Llama "
            "and most models after it use it.",
    .formula = "y = w x / sqrt(mean(x^2) + eps)",
    .source = {"Zhang and Sennrich", 2019, "Root Mean Square Layer Normalization", "section 3", "arXiv:1910.07467"},
    .time = "O(T C)",
    .memory = "O(C) parameters",
    .block = &kRmsNormHooks};

const Part kScaleNormPart{
    .id = "scale_norm",
    .slot = Slot::Norm,
    .title = "Scale norm",
    .idea = "Puts every token on a sphere with a learned radius, one number for the whole norm. The radius begins at "
            "sqrt(C).",
    .formula = "y = g x / |x|",
    .source = {"Nguyen and Salazar", 2019, "Transformers without Tears: Improving the Normalization of Self-Attention",
               "section 2.3", "arXiv:1910.05895"},
    .time = "O(T C)",
    .memory = "1 parameter",
    .block = &kScaleNormHooks};

const Part kFixNormPart{
    .id = "fix_norm",
    .slot = Slot::Norm,
    .title = "FixNorm",
    .idea = "Word vectors keep length one, so a frequent word cannot win by having a long vector. The blocks use "
            "scale norm, and logits are cosines times its radius.",
    .formula = "x = sqrt(C) e_w / |e_w|, logit(w) = g cos(x, e_w); in the blocks y = g x / |x|",
    .source = {"Nguyen and Salazar", 2019, "Transformers without Tears: Improving the Normalization of Self-Attention",
               "section 2.3", "arXiv:1910.05895"},
    .time = "O(T C + V C)",
    .memory = "1 parameter",
    .block = &kFixNormHooks};

} // namespace attn
