#pragma once

#include "engine/models/model_builder.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// What the builders of all streams share: the graph and the layers. How rows begin and what is read from them is
/// theirs.
class StreamBuilder {
protected:
    /// @param model,build must outlive this  @param stream one of the model's  @param stack see BlockSettings::stack
    /// @param layers those of the stream, as they run
    StreamBuilder(const ModelSpec& model, const StreamSpec& stream, const ModelBuild& build,
                  std::shared_ptr<Graph> graph, std::string stack, std::vector<LayerAttention> layers);

    BlockSettings settings() const;
    Tensor learnedNorm(Tensor x, const std::string& name) const; ///< a layer norm of the width of x
    ModelGraph finished();                                       ///< the graph with what the layers have added
    bool hasCache() const { return build_.cacheCapacity > 0; }

    const ModelSpec& model_;
    const StreamSpec& config_; ///< the stream
    const ModelBuild& build_;
    const std::string stack_; ///< "encoder" or "decoder" of a model with both, else "blocks"
    const std::vector<LayerAttention> layers_;
    ModelGraph result_;
    Graph& graph_;
    BlockBuilder blocks_;
};

/// The row with which a query stream begins.
inline Tensor maskRow(Graph& graph, const ModelSpec& model) {
    return graph.parameter("mask_embed.W_mask", {1, model.modelWidth});
}

/// Builds the stream of tokens that the readouts read, with the encoder that it reads.
ModelGraph buildTokens(const ModelSpec& model, const ModelBuild& build);
/// Builds a stream of patches and its classifier.
///
/// Probes: hook_embed [T,C] without positions, hook_pos_embed [T,C] (zeros for registers), those of BlockBuilder,
/// ln_final.hook_normalized [T,C], hook_pooled, logits [B, classes]. T counts the tokens of all images, CLS first in
/// each image. A layer that merges adds blocks.N.hook_merged [T,C]. A layer that pools adds blocks.N.hook_pooled_into
/// [B, tokens], the cluster of each token after the prefix. With windows, sequences are windows: hook_pattern [windows,
/// heads, places, places], in the order of WindowLayout.
///
/// Parameters: embed.{W_E,b_E,cls,distillation,registers}, embed.ln.{w,b}, pos_embed.W_pos, merge.N.{W,ln.w,ln.b},
/// those of BlockBuilder, head.{W_H,b_H}, distillation_head.{W_H,b_H}.
/// @throws Error if the image size is not a multiple of the patch, if the classifier reads CLS and there is none, or if
///         windows, merges and pools do not fit together
ModelGraph buildPatches(const ModelSpec& model, const ModelBuild& build);

} // namespace attn
