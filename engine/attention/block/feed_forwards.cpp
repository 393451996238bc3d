#include "engine/attention/block/block_flow.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

using namespace terms;

constexpr std::array<Param, 2> kParams{
    {{"factor", "Width", "Width of the hidden layer, in widths of the model", Param::Kind::Real, 0.25, 16, 0.25, 4},
     {"chunks", "Chunks", "Pieces of the sequence that are processed one after another: the same result in less memory",
      Param::Kind::Integer, 1, 64, 1, 1}}};

int64_t hiddenWidth(int64_t width, PartValues values) {
    return (static_cast<int64_t>(std::llround(values.real("factor") * static_cast<double>(width))) + 7) / 8 * 8;
}

/// Rows in `chunks` pieces, put together again. Training keeps no hidden layer of a piece.
template <class Map> Tensor inChunks(BlockFlow& flow, Tensor x, int64_t chunks, Map&& map) {
    const int64_t rows = x.shape()[0], count = std::min(chunks, rows);
    if (count <= 1) return map(x);
    std::vector<Tensor> pieces;
    for (int64_t piece = 0; piece < count; ++piece) {
        const int64_t begin = rows * piece / count, end = rows * (piece + 1) / count;
        const Tensor part = slice(x, 0, begin, end - begin);
        pieces.push_back(map(part));
        if (flow.recomputed) flow.recomputed->push_back({.nodes = {part.node, pieces.back().node + 1}});
    }
    return concatenate(pieces, 0);
}

template <Activation kActivation, bool kIsGated> FeedForwardSpec networkOf(const BlockFlow& flow, PartValues values) {
    return {.width = hiddenWidth(flow.width, values),
            .activation = kActivation,
            .gated = kIsGated,
            .bias = flow.hasBias,
            .chunks = values.integer("chunks")};
}
template <Activation kActivation, bool kIsGated>
Tensor build(BlockFlow& flow, PartValues values, const std::string& name, Tensor x) {
    const FeedForwardSpec spec = networkOf<kActivation, kIsGated>(flow, values);
    return feedForward(flow, spec, FeedForwardWeights(flow, spec, name), x);
}

/// x W^T + b; a bias that the model does not have is left out.
Dense linear(const BlockReference& flow, const std::string& name, const char* letter, const Dense& x) {
    const Dense& w = flow.parameters.at(name + ".W_" + letter);
    const auto bias = flow.parameters.find(name + ".b_" + letter);
    Dense y({x.extents[0], w.extents[0]});
    for (int64_t row = 0; row < x.extents[0]; ++row)
        for (int64_t n = 0; n < w.extents[0]; ++n) {
            double sum = bias == flow.parameters.end() ? 0 : bias->second.data[static_cast<size_t>(n)];
            for (int64_t k = 0; k < w.extents[1]; ++k) sum += x.at(row, k) * w.at(n, k);
            y.at(row, n) = sum;
        }
    return y;
}

template <Activation kActivation>
Dense reference(const BlockReference& flow, PartValues, const std::string& name, const Dense& x) {
    Dense hidden = linear(flow, name, "in", x);
    for (double& value : hidden.data)
        value = kActivation == Activation::Relu
                    ? std::max(value, 0.0)
                    : value / 2 *
                          (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (value + 0.044715 * value * value * value)));
    return linear(flow, name, "out", hidden);
}
Dense referenceSwiglu(const BlockReference& flow, PartValues, const std::string& name, const Dense& x) {
    const Dense gate = linear(flow, name, "gate", x);
    Dense hidden = linear(flow, name, "in", x);
    for (size_t i = 0; i < hidden.data.size(); ++i) hidden.data[i] *= gate.data[i] / (1 + std::exp(-gate.data[i]));
    return linear(flow, name, "out", hidden);
}

constexpr BlockHooks kReluHooks{.map = build<Activation::Relu, false>,
                                .mapReference = reference<Activation::Relu>,
                                .network = networkOf<Activation::Relu, false>};
constexpr BlockHooks kGeluHooks{.map = build<Activation::GeluTanh, false>,
                                .mapReference = reference<Activation::GeluTanh>,
                                .network = networkOf<Activation::GeluTanh, false>};
constexpr BlockHooks kSwigluHooks{.map = build<Activation::Silu, true>,
                                  .mapReference = referenceSwiglu,
                                  .network = networkOf<Activation::Silu, true>};

} // namespace

FeedForwardWeights::FeedForwardWeights(const BlockFlow& flow, const FeedForwardSpec& spec, const std::string& name) {
    const auto parameter = [&](const char* which, Shape shape) {
        return flow.graph.parameter(flow.weights + "." + name + "." + which, std::move(shape));
    };
    const auto bias = [&](const char* which, int64_t width) {
        return spec.bias ? std::optional(parameter(which, {width})) : std::nullopt;
    };
    in = parameter("W_in", {spec.width, flow.width});
    if (spec.gated) {
        gateBias = bias("b_gate", spec.width);
        gate = parameter("W_gate", {spec.width, flow.width});
    }
    inBias = bias("b_in", spec.width);
    out = parameter("W_out", {flow.width, spec.width});
    outBias = bias("b_out", flow.width);
}

Tensor hiddenLayer(const BlockFlow& flow, const FeedForwardSpec& spec, const FeedForwardWeights& weights, Tensor x) {
    const auto activated = [&](Tensor by, std::optional<Tensor> bias) {
        return matmul(x, by, {.bias = bias, .activation = spec.activation, .keepsArgument = flow.needsGradients});
    };
    if (!spec.gated) return activated(weights.in, weights.inBias);
    const bool isSwiglu = spec.activation == Activation::Silu;
    const Tensor gate =
        isSwiglu ? matmul(x, weights.gate, {.bias = weights.gateBias}) : activated(weights.gate, weights.gateBias);
    const Tensor up = matmul(x, weights.in, {.bias = weights.inBias});
    return isSwiglu ? swiglu(gate, up) : binary(gate, up, Binary::Multiply);
}

Tensor feedForward(BlockFlow& flow, const FeedForwardSpec& spec, const FeedForwardWeights& weights, Tensor x) {
    return inChunks(flow, x, spec.chunks, [&](Tensor rows) {
        return matmul(hiddenLayer(flow, spec, weights, rows), weights.out, {.bias = weights.outBias});
    });
}

const Part kReluFeedForward{
    .id = "relu",
    .slot = Slot::FeedForward,
    .title = "ReLU feed-forward",
    .idea = "Sends every token by itself through one wide hidden layer that keeps only positive features. In chunks, "
            "as in Reformer, the hidden layer of the whole sequence is never in memory at once.",
    .formula = "y = max(0, x W_in + b_in) W_out + b_out",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.3", "arXiv:1706.03762"},
    .params = kParams,
    .time = "O(T C F)",
    .memory = "O(T F / chunks), O(C F) parameters",
    .block = &kReluHooks};

const Part kGeluFeedForward{
    .id = "gelu",
    .slot = Slot::FeedForward,
    .title = "GELU feed-forward",
    .idea = "Scales each feature of the hidden layer by the probability that a normal random number lies below it: a "
            "smooth ReLU. GPT-2 and BERT use it, here in its tanh form.",
    .formula = "y = GELU(x W_in + b_in) W_out + b_out",
    .source = {"Hendrycks and Gimpel", 2016, "Gaussian Error Linear Units (GELUs)", "section 2", "arXiv:1606.08415"},
    .params = kParams,
    .time = "O(T C F)",
    .memory = "O(T F / chunks), O(C F) parameters",
    .block = &kGeluHooks};

const Part kSwigluFeedForward{
    .id = "swiglu",
    .slot = Slot::FeedForward,
    .title = "SwiGLU feed-forward",
    .idea = "Has two hidden layers; one of them, through SiLU, gates the other. It needs a third matrix, so models "
            "make it narrower, 8/3 widths instead of 4, to cost the same.",
    .formula = "y = (SiLU(x W_gate) (x W_in)) W_out",
    .source = {"Shazeer", 2020, "GLU Variants Improve Transformer", "section 2", "arXiv:2002.05202"},
    .params = kParams,
    .time = "O(T C F)",
    .memory = "O(T F / chunks), O(C F) parameters",
    .block = &kSwigluHooks};

} // namespace attn
