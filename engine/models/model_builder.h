#pragma once

#include "engine/models/model_graph.h"
#include "engine/models/model_spec.h"

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// How a graph of a model will be used.
struct ModelBuild {
    int64_t images = 1;         ///< B: pictures of the same size
    int64_t queries = 1;        ///< T: largest number of tokens per step
    int64_t cacheCapacity = 0;  ///< S; 0: no cache, tokens see only tokens of the same step
    int64_t sourceCapacity = 0; ///< keys in the cache of the source, for a model with an encoder
    /// S: largest number of tokens of the source, or of all sequences' sources; patches have their own.
    int64_t source = 0;
    int64_t keys = 0;      ///< see AttentionSite::keys
    bool isFormed = false; ///< see AttentionSite::isFormed
    /// Rows per sequence, a multiple of 8, for several sequences without a cache. 1 with a cache: each row of a step
    /// says which of several sequences it continues (paged_inputs in step_memory.h). Else 0.
    int64_t sequence = 0;
    double dropout = 0;              ///< probability for the embedding and the outputs of sublayers; for training
    bool isTraining = false;         ///< with what only training reads: a readout of classes, and the query stream
    bool needsGradients = false;     ///< keeps the values that gradients need; texts do without a cache
    bool recordsQueries = false;     ///< keep q for views
    std::set<std::string> changed{}; ///< hooks that can be changed, by decoder_names::kept and added
    bool readsAllLayers = false;     ///< whether to build ModelGraph::stages
};

/// Names of the graph's inputs and states.
namespace decoder_names {
inline constexpr const char* kTokens = "tokens";          ///< Input I32 [T]
inline constexpr const char* kPositions = "positions";    ///< Input I32 [T]
inline constexpr const char* kTokenTypes = "token_types"; ///< Input I32 [T]
/// Input I32 [T] of a model with a padding token: the rows of the position table.
inline constexpr const char* kPositionRows = "position_rows";
/// Input I32 [T]: positions of the keys. In an encoder, those of padding are -context, which no query reaches; in a
/// model with a prefix, those of the prefix are 0, which every query reaches.
inline constexpr const char* kKeyPositions = "key_positions";
/// Input I32 [T] of a model with a query stream: the places of tokens in the order in which they are predicted.
inline constexpr const char* kRanks = "ranks";
/// Input I32 [sequences]: the row of each sequence that a readout of one class for a text reads.
inline constexpr const char* kReadoutRows = "readout_rows";
/// Inputs I32 [T] and [T S] of a model with treeSpec(), as DependencyTree::write() writes them.
inline constexpr const char *kTreeDepths = "tree_depths", *kTreeRelations = "tree_relations";
/// The blocks of the second stream of such a model: "query_stream.3".
inline constexpr const char* kQueryStream = "query_stream";
/// Input I32 [T] of a model with segments: the tokens before any was hidden.
inline constexpr const char* kWholeTokens = "whole_tokens";
/// The blocks of the stream that reads each segment alone: "segment_stream.3".
inline constexpr const char* kSegmentStream = "segment_stream";
inline constexpr const char* kCachePositions = "cache_positions"; ///< State I32 [S]
/// Inputs F32 with the shape of an edited hook x, which becomes kept * x + added.
inline std::string kept(const std::string& hook) { return hook + ".kept"; }
inline std::string added(const std::string& hook) { return hook + ".added"; }
/// Whether a parameter is computed and not learned: the constants of attention.
inline bool isComputed(std::string_view name) { return name.find('#') != name.npos; }
} // namespace decoder_names

/// The nodes of a graph's parameters that a model's files hold.
std::vector<const Node*> storedParameters(const Graph& graph);

/// Builds the graph of a model. Of pictures: see patchStream. Of texts, probes: hook_embed, hook_pos_embed,
/// hook_token_type_embed, those of BlockBuilder, logits [T,V]. Parameters: embed.W_E, pos_embed.W_pos,
/// token_type_embed.W_token_type, embed.ln.{w,b}, those of BlockBuilder, mlm_head.{W,b,ln.w,ln.b} for masked tokens,
/// unembed.{W_U,b_U}, for classes pooler.{W,b} and classifier.{W,b}, for a query stream mask_embed.W_mask [1,C]; linear
/// weights are [out, in]. In a model with an encoder, the names of all but embed.W_E, logits and unembed begin with
/// "encoder." or "decoder.".
/// @throws Error if streams of patches do not fit together, as patchStream
ModelGraph buildModel(const ModelSpec& config, const ModelBuild& build = {});

/// Builds the graph of the encoder that a decoder reads, which computes the keys and values of every cross-attention
/// and keeps them for steps of the decoder: see holdKeys().
/// @param build its source and edited  @param capacity largest number of tokens of a source
ModelGraph buildSource(const ModelSpec& config, const ModelBuild& build, int64_t capacity);

/// Applies the final norm and the unembedding to rows of the residual stream, in the graph of x.
/// @param x [N, C times the number of residual streams]  @return logits [N,V]
Tensor readOut(const ModelSpec& config, Tensor x);

/// The value of hook_embed for each token of the vocabulary, as a tensor of `graph`.
/// @param stack "encoder" for the tokens of a source; else those that the model predicts  @return [V,C]
Tensor vocabularyEmbedding(const ModelSpec& config, Graph& graph, std::string_view stack = {});

/// Gives hooks the inputs decoder_names::kept and added. Call before adding nodes to the graph.
void makeEditable(Graph& graph, const std::set<std::string>& hooks);

/// The attention of a site, by its index in ModelStructure::sites.
const LayerAttention& siteAttention(const ModelSpec& config, int site);

/// Builds a graph that has all hooks, and every learned parameter in its final shape, to list them.
ModelGraph buildForListing(const ModelSpec& config);
/// Whether the fused kernel serves every site and no other part depends on positions, or the model has an encoder. Then
/// a run may be padded and its length may vary between runs. Otherwise a whole run has `context` rows.
bool runsAnyLength(const ModelSpec& config);
/// Whether such a model has queries that see keys after them. It runs whole sequences, because each token changes those
/// before it.
bool isEncoder(const ModelSpec& config);
/// The row that a readout of a whole text reads: an encoder's first one, and of a decoder the last one that is no
/// padding, which has seen all others. Only padding: the first.
/// @source transformers 4, modeling_layers.py, GenericForSequenceClassification
size_t readoutRow(const ModelSpec& config, std::span<const int> tokens);
/// Whether a model runs whole sequences although the fused kernel serves it: an encoder, a model with a prefix, or one
/// that predicts no tokens.
bool runsWhole(const ModelSpec& config);
/// Whether a model writes token by token over caches, as one that runs any length and is neither of these.
bool writesFromCache(const ModelSpec& config);
/// The rows of the position table of a model with a padding token: 0 for padding, else the number of other tokens up
/// to this one.
std::vector<int32_t> positionRows(const ModelSpec& config, std::span<const int> tokens);
/// The composition whose tree is used for texts that have no tree of their own. Null: no layer has positions in a tree,
/// or layers have different ones and keep them, or the model has an encoder.
const AttentionSpec* treeSpec(const ModelSpec& config);
/// Whether the attention of every layer can show a prefix in both directions: it is causal, and the fused kernel
/// computes it without a window.
bool canHavePrefix(const ModelSpec& config);
/// Why a model cannot continue from a cache or a state and runs its whole sequence for every token, in a sentence.
/// @param context the longest sequence  @return empty if it can
std::string noCacheReason(const ModelSpec& config, int64_t context);

} // namespace attn
