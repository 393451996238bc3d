#pragma once

#include "engine/attention/flow.h"
#include "engine/ops/gradient.h"

namespace attn {

/// A layer while its graph is built, for the parts around the attention.
struct BlockFlow {
    Graph& graph;
    std::string weights; ///< prefix of parameter names: "blocks.0"; empty for none
    int64_t width = 1;   ///< C
    double epsilon = 1e-5;
    int64_t sequence = 0;                   ///< rows of each sequence; 0: all rows are one
    int64_t layer = 0;                      ///< index of the layer in its stack
    bool hasBias = true;                    ///< whether feed-forward layers have biases
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
using Sublayer = std::function<Tensor(Tensor)>;
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
    /// Builds only the hidden layer of a feed-forward layer. @return [rows,F]
    Tensor (*hidden)(BlockFlow& flow, PartValues values, const std::string& name, Tensor x) = nullptr;

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
    bool isPostNorm = false;    ///< the last layer's result is already normalised
    bool fixesWords = false;    ///< word vectors all have length one
    bool sharesWeights = false; ///< all layers use the parameters of the first
};

} // namespace attn
