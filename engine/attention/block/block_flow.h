#pragma once

#include "engine/attention/flow.h"

namespace attn {

/// A block while its graph is built, for the parts around the attention.
struct BlockFlow {
    Graph& graph;
    std::string weights; ///< prefix of parameters: "blocks.0"; empty for none
    int64_t width = 1;   ///< C
    double epsilon = 1e-5;
    bool hasBias = true;                    ///< of feed-forward layers
    std::vector<FlowParameter>& parameters; ///< that parts learn and that begin in their own way

    Tensor parameter(const std::string& name, Shape shape, InitialValue initial);
};

/// The same in plain loops.
struct BlockReference {
    int64_t width = 1;
    double epsilon = 1e-5;
    std::map<std::string, Dense> parameters{}; ///< by their names without the prefix
};

/// A map of rows to rows: a norm, an attention, a feed-forward layer.
using Sublayer = std::function<Tensor(Tensor)>;
using ReferenceSublayer = std::function<Dense(const Dense&)>;

/// What a part of Slot::Norm, FeedForward, Residual or Layers builds.
struct BlockHooks {
    /// Norms and feed-forward layers. @param name of its parameters: "ln1", "mlp"  @param x [rows,C]  @return the same
    Tensor (*map)(BlockFlow& flow, PartValues values, const std::string& name, Tensor x) = nullptr;
    Dense (*mapReference)(const BlockReference& flow, PartValues values, const std::string& name,
                          const Dense& x) = nullptr;
    /// Feed-forward layers: the features of the hidden layer alone, [rows,F].
    Tensor (*hidden)(BlockFlow& flow, PartValues values, const std::string& name, Tensor x) = nullptr;

    /// Residuals: how a sublayer and its norm join the stream. @param name of the gate: "gate1"
    /// @param x [rows, streams C]  @return the same
    Tensor (*join)(BlockFlow& flow, const std::string& name, Tensor x, const Sublayer& norm,
                   const Sublayer& sublayer) = nullptr;
    Dense (*joinReference)(const BlockReference& flow, const std::string& name, const Dense& x,
                           const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) = nullptr;
    /// What went into a join, from what came out of it; null where it cannot be told.
    Tensor (*undoJoin)(Tensor y, const Sublayer& norm, const Sublayer& sublayer) = nullptr;

    int64_t streams =
        1; ///< that a residual keeps beside each other: each begins as the embedding, their mean is the result
    bool isPostNorm = false;    ///< the last block's result is normalised already
    bool fixesWords = false;    ///< word vectors have one length
    bool sharesWeights = false; ///< all layers have the first one's
};

} // namespace attn
