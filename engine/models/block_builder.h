#pragma once

#include "engine/attention/block/block_flow.h"
#include "engine/attention/parts.h"
#include "engine/attention/site_attention.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Settings of the layers of a transformer that text and vision models share.
struct BlockSettings {
    int64_t modelWidth = 0;      ///< C
    int64_t positions = 0;       ///< see AttentionSite::positions
    std::string stack{"blocks"}; ///< see StreamSpec::stack
    /// The attention of each layer to another stream, after its self-attention; empty: none.
    std::span<const LayerAttention> cross{};
    bool sharesPositions = false; ///< the first layer's learned positions serve every layer, as in T5
    /// The parts around the attention in layers whose composition names no others.
    const Part *norm = &kLayerNormPart, *residual = &kPreNormResidual;
    double normEpsilon = 1e-5;
    bool finalNorm = true;
    FeedForwardSpec feedForward;
    std::span<const LayerAttention> layers; ///< must outlive the builder
    double dropout = 0;                     ///< probability for the outputs of sublayers; for training
    bool needsGradients = false;            ///< keeps the values that gradients need
};

/// Adds the layers of a transformer to a graph.
///
/// Probes: blocks.N.hook_resid_pre|mid|post, blocks.N.attn.*, blocks.N.hook_attn_out|mlp_out. Parameters:
/// blocks.N.{ln1,ln2}.{w,b}, blocks.N.attn.{W,b}_{Q,K,V,O}, blocks.N.mlp.{W,b}_{in,gate,out}, blocks.N.{scale1,scale2}
/// with layer scale, ln_final.{w,b}; linear weights are [out, in]. With attention to another stream also the probes
/// blocks.N.hook_resid_mid_cross|cross_attn_out and blocks.N.cross_attn.*, and the parameters blocks.N.ln_cross.{w,b}
/// and blocks.N.cross_attn.*. In a model with two stacks, "encoder" or "decoder" stands for "blocks".
class BlockBuilder {
public:
    BlockBuilder(Graph& graph, const BlockSettings& settings) : graph_(graph), settings_(settings) {}

    /// Adds a layer.
    /// @param x [rows, C times the number of residual streams]
    /// @param site with positions, cache, sequence and ranks; its prefix names the block if it is not the layer's own
    /// but another stream through the same parameters and gates; this function sets the other members
    /// @return the same shape as x
    /// @param cross of the attention to another stream: its keyInput, keyPosition and reach
    Tensor block(size_t layer, Tensor x, AttentionSite site, const AttentionSite& cross = {});
    /// For a residual with several parallel streams: spread() repeats x for each stream, gather() takes their mean.
    Tensor spread(Tensor x) const;
    Tensor gather(Tensor x) const;
    Tensor finalNorm(Tensor x);
    /// Doubles C and the feed-forward width of the following layers.
    void widen();
    std::string nameOf(size_t layer) const; ///< of a block: "blocks.3"
    /// Adds dropout.
    Tensor dropped(Tensor x);
    /// The functions of the part in a slot of a layer.
    const BlockHooks& hooks(size_t layer, Slot slot) const;

    std::vector<std::pair<std::string, Tensor>> updates{}; ///< writes to states
    std::vector<NodeRange> blocks{};                       ///< the nodes of each layer
    PartTensors partTensors{};                             ///< tensors of the layers' parts
    uint32_t dropouts = 0;                                 ///< number of dropout nodes so far in the graph

private:
    const Part* named(size_t layer, Slot slot) const; ///< the part that a composition names; null: the model's own
    PartValues valuesOf(size_t layer, Slot slot) const;
    /// For the part in a slot of a layer.
    BlockFlow blockFlow(size_t layer, Slot slot, const std::string& weights);
    Tensor norm(Tensor x, size_t layer, const std::string& weights, const std::string& name);
    Tensor withInputs(size_t layer, AttentionSite& site, Tensor x);
    Sublayer attention(const LayerAttention& attention, size_t layer, AttentionSite& site);
    bool hasFeedForward(size_t layer) const;
    Tensor layerScale(size_t layer, const std::string& weights, const char* name);
    Sublayer feedForward(size_t layer, const std::string& prefix, const std::string& weights);
    /// A sublayer with dropout. @param build gives the nodes for an input and a residual stream, which may be null
    template <class Build> Sublayer sublayer(Build build);

    Graph& graph_;
    BlockSettings settings_;
    std::vector<FlowParameter> ownParameters_; ///< of the model's own parts, which begin as its recipe says
};

} // namespace attn
