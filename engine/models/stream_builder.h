#pragma once

#include "engine/models/model_builder.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Builds a stream into a graph. What all streams share: the graph, the layers, and the stream that they read. How rows
/// begin along an axis and what is read from them is of a class for each kind of axis.
class StreamBuilder {
public:
    virtual ~StreamBuilder() = default;
    /// The graph of the model whose readouts read this stream.
    virtual ModelGraph build() = 0;
    /// The graph of the stream that this one reads, with the keys of every cross-attention, kept for steps.
    ModelGraph hold(int64_t capacity);

protected:
    /// @param model,build must outlive this  @param stream one of the model's
    /// @param layers those of the stream, as they run
    StreamBuilder(const ModelSpec& model, const StreamSpec& stream, const ModelBuild& build,
                  std::shared_ptr<Graph> graph, std::vector<LayerAttention> layers);

    /// Adds the rows of the stream after its last layer. @return [T,C]
    virtual Tensor rows() = 0;
    /// The positions of its rows as keys, of which `rows` are in use, and how far before a query padding lies.
    struct KeyPositions {
        Tensor positions; ///< I32 [rows]
        int64_t reach = 0;
    };
    virtual KeyPositions keyPositions(int64_t rows) = 0;
    /// The keys of cross-attention: rows of the stream that this one reads, or those that a run of it keeps. Empty if
    /// it reads none.
    AttentionSite crossKeys();

    BlockSettings settings() const;
    Tensor learnedNorm(Tensor x, const std::string& name) const; ///< a layer norm of the width of x
    ModelGraph finished();                                       ///< the graph with what the layers have added
    bool hasCache() const { return build_.cacheCapacity > 0; }

    const ModelSpec& model_;
    const StreamSpec& config_; ///< the stream
    const ModelBuild& build_;
    const std::vector<LayerAttention> layers_;
    ModelGraph result_;
    Graph& graph_;
    BlockBuilder blocks_;
};

/// The row with which a query stream begins.
inline Tensor maskRow(Graph& graph, const ModelSpec& model) {
    return graph.parameter("mask_embed.W_mask", {1, model.modelWidth});
}

/// Makes the builder of a stream of some kind. @param model,build must outlive it
using MakeStream = std::unique_ptr<StreamBuilder>(const ModelSpec& model, const StreamSpec& stream,
                                                  const ModelBuild& build, std::shared_ptr<Graph> graph);

/// Of tokens, with the readouts of texts.
MakeStream tokenStream;
/// Of patches, with a classifier.
///
/// Probes: hook_embed [T,C] without positions, hook_pos_embed [T,C] (zeros for registers), those of BlockBuilder,
/// ln_final.hook_normalized [T,C], hook_pooled, logits [B, classes]. T counts the tokens of all images, CLS first in
/// each image. A layer that merges adds blocks.N.hook_merged [T,C]. A layer that pools adds blocks.N.hook_pooled_into
/// [B, tokens], the cluster of each token after the prefix. With windows, sequences are windows: hook_pattern [windows,
/// heads, places, places], in the order of WindowLayout.
///
/// Parameters: embed.{W_E,b_E,cls,distillation,registers}, embed.ln.{w,b}, pos_embed.W_pos, merge.N.{W,ln.w,ln.b},
/// those of BlockBuilder, head.{W_H,b_H}, distillation_head.{W_H,b_H}. All but the heads have the stack before them.
/// @throws Error if the image size is not a multiple of the patch, if the classifier reads CLS and there is none, or if
///         windows, merges and pools do not fit together
MakeStream patchStream;

/// By the kind of axis.
inline constexpr std::array<MakeStream*, 2> kStreams{tokenStream, patchStream};

} // namespace attn
