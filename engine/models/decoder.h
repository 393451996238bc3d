#pragma once

#include "engine/models/block_builder.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A decoder-only transformer as one description; families differ only in these values and in their files' tensor
/// names.
struct DecoderConfig {
    std::string name;
    std::string family;
    int64_t vocabulary = 0; ///< V
    int64_t modelWidth = 0; ///< C
    int64_t context = 0;    ///< most positions
    NormKind norm = NormKind::LayerNorm;
    double normEpsilon = 1e-5;
    bool finalNorm = true;
    bool learnedPositions = false; ///< a table added to the embedding
    bool parallelResidual = false; ///< x + attention(norm1(x)) + feedForward(norm2(x)), as in GPT-NeoX
    bool tiedEmbedding = true;     ///< logits use the embedding
    bool unembedBias = false;
    FeedForwardSpec feedForward;
    std::vector<LayerAttention> layers;
    bool operator==(const DecoderConfig&) const = default;
};

/// How a graph of the decoder will be used.
struct DecoderBuild {
    int64_t queries = 1;            ///< T: most tokens per step
    int64_t cacheCapacity = 0;      ///< S; 0: no cache, each token sees the others of this step
    int64_t sequence = 0;           ///< 0, or without a cache: rows of each of several sequences, a multiple of 8
    double dropout = 0;             ///< of the embedding and what each block adds; for training
    bool recordsQueries = false;    ///< keep q for views
    std::set<std::string> edited{}; ///< hooks through which something else may flow: decoder_names::kept and added
};

/// Names of the graph's inputs and states.
namespace decoder_names {
inline constexpr const char* kTokens = "tokens";                  ///< Input I32 [T]
inline constexpr const char* kPositions = "positions";            ///< Input I32 [T]
inline constexpr const char* kCachePositions = "cache_positions"; ///< State I32 [S]
using attn::kRotaryTable;
/// Inputs F32, of the shape of an edited hook x, in whose place goes kept * x + added.
inline std::string kept(const std::string& hook) { return hook + ".kept"; }
inline std::string added(const std::string& hook) { return hook + ".added"; }
/// Whether a Parameter is computed rather than learned: the rotary table, and constants of composed attention.
inline bool isComputed(std::string_view name) { return name == kRotaryTable || name.find('#') != name.npos; }
} // namespace decoder_names

struct DecoderGraph {
    std::shared_ptr<Graph> graph;
    Tensor nextLogits;                                   ///< [1,V]: after the last live token
    Tensor logits;                                       ///< [T,V]
    std::vector<AttentionInputs> attention;              ///< per layer, over the caches
    std::vector<std::pair<std::string, Tensor>> updates; ///< state writes; request all of them
    std::vector<NodeRange> blocks;                       ///< the nodes of each
    ComposedNeeds composed;                              ///< of layers that have a spec
};

/// Probes: hook_embed, hook_pos_embed, those of BlockBuilder, logits [T,V]. Parameters: embed.W_E, pos_embed.W_pos,
/// those of BlockBuilder, unembed.{W_U,b_U}; linear weights are [out, in].
DecoderGraph buildDecoder(const DecoderConfig& config, const DecoderBuild& build);

/// What the model makes of rows of its residual stream: the final norm and the unembedding.
/// @param x [N, C of all streams], of the graph that the result is in  @return logits [N,V]
Tensor readOut(const DecoderConfig& config, Tensor x);

/// What hook_embed holds of each token that there is. @param graph that the result is in  @return [V,C]
Tensor vocabularyEmbedding(const DecoderConfig& config, Graph& graph);

/// To be called on a graph that is still empty: hooks get the inputs decoder_names::kept and added.
void makeEditable(Graph& graph, const std::set<std::string>& hooks);

/// A build that has every learned tensor in its final shape, for listing them.
DecoderGraph buildForListing(const DecoderConfig& config);
/// Whether some layer's attention is composed of parts: it runs whole sequences and has no cache.
bool isComposed(const DecoderConfig& config);

} // namespace attn
