#include "engine/attention/block/block_flow.h"
#include "engine/attention/block/blocks.h"
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

struct Weights {
    Tensor in, gate, out;
    std::optional<Tensor> inBias, gateBias, outBias;

    Weights(BlockFlow& flow, const std::string& name, int64_t hidden, bool isGated) {
        const int64_t C = flow.width;
        const auto bias = [&](const char* which, int64_t width) {
            return flow.hasBias ? std::optional(flow.graph.parameter(flow.weights + "." + name + which, {width}))
                                : std::nullopt;
        };
        const auto weight = [&](const char* which, Shape shape) {
            return flow.graph.parameter(flow.weights + "." + name + which, std::move(shape));
        };
        in = weight(".W_in", {hidden, C});
        inBias = bias(".b_in", hidden);
        if (isGated) {
            gate = weight(".W_gate", {hidden, C});
            gateBias = bias(".b_gate", hidden);
        }
        out = weight(".W_out", {C, hidden});
        outBias = bias(".b_out", C);
    }
};

/// The hidden layer's features of some rows.
using Hidden = Tensor (*)(const Weights& weights, Tensor rows);
template <Activation kActivation> Tensor activated(const Weights& weights, Tensor rows) {
    return matmul(rows, weights.in, {.bias = weights.inBias, .activation = kActivation, .keepsArgument = true});
}
Tensor gated(const Weights& weights, Tensor rows) {
    return swiglu(matmul(rows, weights.gate, {.bias = weights.gateBias}),
                  matmul(rows, weights.in, {.bias = weights.inBias}));
}

template <Hidden kHidden, bool kIsGated>
Tensor build(BlockFlow& flow, PartValues values, const std::string& name, Tensor x) {
    const Weights weights(flow, name, hiddenWidth(flow.width, values), kIsGated);
    return inChunks(flow, x, values.integer("chunks"), [&](Tensor rows) {
        return matmul(kHidden(weights, rows), weights.out, {.bias = weights.outBias});
    });
}
template <Hidden kHidden, bool kIsGated>
Tensor hidden(BlockFlow& flow, PartValues values, const std::string& name, Tensor x) {
    return kHidden(Weights(flow, name, hiddenWidth(flow.width, values), kIsGated), x);
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

constexpr Hidden kRelu = activated<Activation::Relu>, kGelu = activated<Activation::GeluTanh>;
constexpr BlockHooks kReluHooks{
    .map = build<kRelu, false>, .mapReference = reference<Activation::Relu>, .hidden = hidden<kRelu, false>};
constexpr BlockHooks kGeluHooks{
    .map = build<kGelu, false>, .mapReference = reference<Activation::GeluTanh>, .hidden = hidden<kGelu, false>};
constexpr BlockHooks kSwigluHooks{
    .map = build<gated, true>, .mapReference = referenceSwiglu, .hidden = hidden<gated, true>};

} // namespace

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
