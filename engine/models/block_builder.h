#pragma once

#include "engine/attention/composed_attention.h"
#include "engine/attention/self_attention.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn {

struct BlockHooks;
struct BlockFlow;

enum class NormKind : uint8_t { None, LayerNorm, RmsNorm };

struct FeedForwardSpec {
    int64_t width = 0; ///< F; 0: attention only
    Activation activation = Activation::GeluTanh;
    bool gated = false; ///< SwiGLU: silu(x W_gate) * (x W_in)
    bool bias = true;
    bool operator==(const FeedForwardSpec&) const = default;
};

/// Parameter, computed: cosines and sines of rotary positions.
inline constexpr const char* kRotaryTable = "rotary.table";

/// What the blocks of a transformer have in common, whatever its tokens are made of.
struct BlockSettings {
    int64_t modelWidth = 0;      ///< C
    int64_t rotaryPositions = 0; ///< rows of the rotary table, for layers that have rotary positions
    NormKind norm = NormKind::LayerNorm;
    double normEpsilon = 1e-5;
    bool finalNorm = true;
    bool parallelResidual = false; ///< x + attention(norm1(x)) + feedForward(norm2(x)), as in GPT-NeoX
    bool layerScale = false;       ///< a factor for each feature on what a sublayer adds
    FeedForwardSpec feedForward;
    std::span<const LayerAttention> layers; ///< outlive the builder
    double dropout = 0;                     ///< of what each block adds; for training
    bool mayTrain = false;                  ///< keeps what gradients need
};

/// Builds the blocks of a transformer into a graph.
///
/// Probes: blocks.N.hook_resid_pre|mid|post, blocks.N.attn.*, blocks.N.hook_attn_out|mlp_out. Parameters:
/// blocks.N.{ln1,ln2}.{w,b}, blocks.N.attn.{W,b}_{Q,K,V,O}, blocks.N.mlp.{W,b}_{in,gate,out}, blocks.N.{scale1,scale2}
/// with LayerScale, ln_final.{w,b}; linear weights are [out, in].
class BlockBuilder {
public:
    BlockBuilder(Graph& graph, const BlockSettings& settings) : graph_(graph), settings_(settings) {}

    /// The next block. @param x [rows, C] of every stream  @param site positions, cache and sequence; the rest is set
    /// here
    /// @return the same shape
    Tensor block(size_t layer, Tensor x, AttentionSite site);
    /// Streams that a residual keeps beside each other: x repeated, and their mean in the end.
    Tensor spread(Tensor x) const;
    Tensor gather(Tensor x) const;
    Tensor finalNorm(Tensor x);
    /// From here on tokens and feed-forward layers are twice as wide.
    void widen();
    Tensor dropped(Tensor x);
    /// What a part of a layer's block does; null where the model's own is meant.
    const BlockHooks* hooksOf(size_t layer, Slot slot) const;

    std::vector<AttentionInputs> attention{};              ///< per layer, over the caches
    std::vector<std::pair<std::string, Tensor>> updates{}; ///< state writes
    std::vector<NodeRange> blocks{};                       ///< the nodes of each
    ComposedNeeds composed{};                              ///< of layers that have a spec

private:
    BlockFlow blockFlow(const std::string& weights);
    Tensor mapped(size_t layer, Slot slot, const std::string& weights, const std::string& name, Tensor x);
    Tensor norm(Tensor x, size_t layer, const std::string& weights, const std::string& name);
    Tensor plainNorm(Tensor x, const std::string& name);
    Tensor withInputs(const LayerAttention& spec, AttentionSite& site, int64_t layer, Tensor x);
    AttentionNodes attend(size_t layer, AttentionSite& site, Tensor input, Tensor residual);
    bool hasFeedForward(size_t layer) const;
    Tensor layerScale(const std::string& weights, const char* name);
    SublayerNodes feedForward(size_t layer, const std::string& prefix, const std::string& weights, Tensor input,
                              Tensor residual = {});
    Tensor joined(size_t layer, const BlockHooks& residual, AttentionSite& site, const std::string& weights, Tensor x);

    Graph& graph_;
    BlockSettings settings_;
    uint32_t sites_ = 0; // of dropout
};

} // namespace attn
