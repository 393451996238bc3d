#pragma once

#include "engine/attention/flow.h"
#include "engine/ops/gradient.h"
#include "engine/ops/ops.h"

#include <concepts>

namespace attn {

/// The feed-forward network of a layer.
struct FeedForwardSpec {
    int64_t width = 0; ///< F; 0: attention only
    Activation activation = Activation::GeluTanh;
    bool gated = false; ///< activation(x W_gate) * (x W_in): SwiGLU with Silu, GEGLU with GeluTanh
    bool bias = true;
    int64_t chunks = 1; ///< pieces of the rows that are computed one after another
    bool operator==(const FeedForwardSpec&) const = default;
};

/// A layer while its graph is built, for the parts around the attention.
struct BlockFlow {
    Graph& graph;
    std::string weights; ///< prefix of parameter names: "blocks.0"; empty for none
    int64_t width = 1;   ///< C
    double epsilon = 1e-5;
    int64_t sequence = 0;                   ///< rows of each sequence; 0: all rows are one
    int64_t layer = 0;                      ///< index of the layer in its stack
    bool hasBias = true;                    ///< whether feed-forward layers have biases
    bool needsGradients = true;             ///< keeps the values that gradients need
    std::vector<FlowParameter>& parameters; ///< parameters whose initial values a part chose
    /// Receives what training need not keep; null if nobody asks.
    std::vector<Recomputed>* recomputed = nullptr;

    /// Declares a parameter once and returns it. @param name without the prefix
    Tensor parameter(const std::string& name, Shape shape, InitialValue initial);
};

/// The input of references in plain loops.
struct BlockReference {
    int64_t width = 1;
    double epsilon = 1e-5;
    std::map<std::string, Dense> parameters{}; ///< by name without the prefix
    int64_t layer = 0;
};

/// A function from rows to rows: a norm, an attention or a feed-forward layer.
class Sublayer {
public:
    template <std::invocable<Tensor> Run>
    Sublayer(Run run)
        : run_([run](Tensor in, Tensor residual) { return residual ? add(residual, run(in)) : run(in); }) {}
    /// @param run gives its result for rows, added to a residual stream unless that is null
    template <std::invocable<Tensor, Tensor> Run> Sublayer(Run run) : run_(run) {}

    Tensor operator()(Tensor in) const { return run_(in, {}); }
    /// residual + (*this)(in), which may cost less
    Tensor onto(Tensor residual, Tensor in) const { return run_(in, residual); }

private:
    std::function<Tensor(Tensor, Tensor)> run_;
};
using ReferenceSublayer = std::function<Dense(const Dense&)>;

/// The functions of a part of Slot::Norm, FeedForward, Residual or Layers; null if the slot does not use them.
struct BlockHooks {
    /// Builds a norm or a feed-forward layer.
    /// @param name prefix of its parameters: "ln1", "mlp"
    /// @param x    [rows,C]
    /// @return     [rows,C]
    Tensor (*map)(BlockFlow& flow, PartValues values, const std::string& name, Tensor x) = nullptr;
    Dense (*mapReference)(const BlockReference& flow, PartValues values, const std::string& name,
                          const Dense& x) = nullptr;
    /// Of a feed-forward layer: its network.
    FeedForwardSpec (*network)(const BlockFlow& flow, PartValues values) = nullptr;

    /// Joins a sublayer and its norm to the residual stream.
    /// @param name prefix of the gate's parameters: "gate1"
    /// @param x    [rows, streams C]
    /// @return     [rows, streams C]
    Tensor (*join)(BlockFlow& flow, PartValues values, const std::string& name, Tensor x, const Sublayer& norm,
                   const Sublayer& sublayer) = nullptr;
    Dense (*joinReference)(const BlockReference& flow, PartValues values, const std::string& name, const Dense& x,
                           const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) = nullptr;
    /// Builds what a residual makes of the streams before the layer's first sublayer. @param x [rows, streams C]
    /// @return the same shape
    Tensor (*before)(BlockFlow& flow, PartValues values, Tensor x) = nullptr;
    Dense (*beforeReference)(const BlockReference& flow, PartValues values, const Dense& x) = nullptr;
    /// For a residual that moves rows between layers, so that the first layers of a decoder may look ahead: the last
    /// key that a query may see. Null: the query's own position.
    int64_t (*lastKey)(PartValues values, int64_t layer, int64_t query) = nullptr;
    /// How many layers a model with such a residual has at least; null: one.
    int64_t (*leastLayers)(PartValues values) = nullptr;
    /// Builds what a residual adds between attention and feed-forward layer, from rows that are normalised.
    /// @param name prefix of its parameters: "local"  @param x [rows, C]  @return [rows, C]
    Tensor (*between)(BlockFlow& flow, PartValues values, const std::string& name, Tensor x) = nullptr;
    Dense (*betweenReference)(const BlockReference& flow, PartValues values, const std::string& name,
                              const Dense& x) = nullptr;
    /// Concatenated residual streams. Each begins as the embedding, and the result is their mean.
    int64_t streams = 1;
    bool isParallel = false;    ///< attention and feed-forward layer read the same rows: the input of the layer
    bool scalesOutput = false;  ///< a learned factor multiplies each feature of what a sublayer adds
    bool isPostNorm = false;    ///< the last layer's result is already normalised
    bool fixesWords = false;    ///< word vectors all have length one
    bool sharesWeights = false; ///< all layers use the parameters of the first
};

/// The parameters of a feed-forward network.
struct FeedForwardWeights {
    Tensor in, gate, out; ///< [F,C], [F,C] of gated ones, [C,F]
    std::optional<Tensor> inBias{}, gateBias{}, outBias{};
    /// @param name prefix of their names: "mlp"
    FeedForwardWeights(const BlockFlow& flow, const FeedForwardSpec& spec, const std::string& name);
};
/// Builds the hidden layer of a feed-forward network. @return [rows,F]
Tensor hiddenLayer(const BlockFlow& flow, const FeedForwardSpec& spec, const FeedForwardWeights& weights, Tensor x);
/// Builds a feed-forward network, in chunks if it has several. @return [rows,C]
Tensor feedForward(BlockFlow& flow, const FeedForwardSpec& spec, const FeedForwardWeights& weights, Tensor x);

} // namespace attn
