#pragma once

#include "engine/attention/site_attention.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The graph of a model and its outputs.
struct ModelGraph {
    std::shared_ptr<Graph> graph{};
    Tensor logits{};                 ///< [T,V] of a text, [B,classes] of pictures; null without a readout
    std::vector<NodeRange> blocks{}; ///< the nodes of each layer
    PartTensors partTensors{};       ///< tensors of the layers' parts, and of computed positions

    /// For training on hidden segments: how well the global token of each segment of the batch (rows) agrees with the
    /// summary of each segment alone (columns), [segments, segments]. Null otherwise.
    Tensor segmentLogits{};

    // Of texts with a cache.
    Tensor nextLogits{};                                   ///< [1,V] after the last token of the step
    std::vector<std::pair<std::string, Tensor>> updates{}; ///< writes to states; request all of them
    /// [T,classes] of each row of a run, by the readout of classes; null without one. While a model trains that also
    /// fills in masked tokens: [sequences, classes].
    Tensor classes{};

    // Of pictures.
    Tensor pooled{}; ///< [B, pooledWidth] input of the classifier
    /// The classifier applied to the embedding and to each layer: [B, classes]. Null without a classifier, and before
    /// the last merge, where tokens have another width.
    std::vector<Tensor> stages{};
    /// The classifier applied to each token: [T, classes]. Null also if it reads two tokens.
    std::vector<Tensor> tokenStages{};
};

} // namespace attn
