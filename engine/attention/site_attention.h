#pragma once

#include "engine/attention/flow.h"
#include "engine/attention/layer_attention.h"
#include "engine/graph/plan.h"
#include "engine/ops/gradient.h"

#include <string>
#include <string_view>

namespace attn {

/// A layer's rows regrouped into short sequences that attend only within themselves, such as the windows of a grid.
struct RowGroups {
    Tensor order;       ///< I32 [groups length]: the row of the picture at each place; -1: a visible row of zeros
    Tensor places;      ///< I32 [rows of a picture]: the place of each row
    Tensor visible;     ///< [groups,1,length,length]: 1 where a place sees another; null: all see all
    int64_t groups = 1; ///< per picture
    int64_t length = 1;
};

/// The place of a layer's attention in a graph.
struct AttentionSite {
    std::string prefix;        ///< "blocks.0.attn"
    std::string weights{};     ///< see AttentionFlow::weights
    Tensor input;              ///< [T,C], normalised
    Tensor keyInput{};         ///< [S,C'], rows of another stream, which keys and values come from; null: of the input
    Tensor residual;           ///< [T,C], added to the output
    Tensor queryPosition;      ///< I32 [T]
    Tensor keyPosition;        ///< I32 [S]: of the keys, in the cache after this step's write; -reach or less: padding
    int64_t positions = 0;     ///< number of positions that can occur; 0: rows have no order
    bool isPadded = false;     ///< rows without an order have position 0, or 1 where no other row sees them
    Tensor outputScale;        ///< [C]: factor of what is added (LayerScale); null for none
    int64_t cacheCapacity = 0; ///< in keys; 0: no cache, only this step's keys and values exist
    int64_t keys = 0;          ///< S, the number of keys that a step reads which forms scores over a cache
    int64_t heldKeys = 0;      ///< unless 0: the number of keys, which holdKeys() of another plan has computed
    int64_t sequence = 0;      ///< see AttentionRule::sequence; 1 with a cache: see isPaged()
    int64_t reach = 0;         ///< unless 0: a key this far before a query, or farther, is padding
    Tensor queryRank{}, keyRank{}; ///< [T] and [S]: a query sees the keys whose rank is not above its own; null: all
    Tensor treeDepths{}, treeRelations{}; ///< see AttentionFlow
    std::string gates{};                  ///< the site whose gates these heads have; empty: its own
    std::string positionWeights{};        ///< see AttentionFlow::positionWeights
    std::string stackWeights{};           ///< see AttentionFlow::stackWeights
    const RowGroups* groups = nullptr;    ///< null: each sequence is one group
    bool recordsQueries = false;          ///< whether views need more than the next token: q, or k and v beside a state
    bool isFormed = false;                ///< whether to form every pattern, even if the attention can run without
};

/// The nodes that a layer's attention adds to a graph.
struct AttentionNodes {
    Tensor output;                                       ///< residual + added, [T,C]
    Tensor added;                                        ///< z . W_O + b_O, scaled; costs nothing unless used
    std::vector<std::pair<std::string, Tensor>> updates; ///< state writes that every plan must request
};

/// Tensors that attention adds to a model; the owner of the parameters must provide them.
struct PartTensors {
    std::vector<FlowParameter> parameters; ///< learned by parts
    std::vector<FlowConstant> constants;
    std::vector<Tensor> penalties;        ///< [1] each, added to the loss
    std::vector<Recomputed> recomputed{}; ///< values that the backward pass of training computes again
    std::vector<std::pair<std::string, Tensor>> averages{}; ///< see AttentionFlow::averages
};

/// The constants that a plan reads.
std::vector<const FlowConstant*> usedConstants(const Plan& plan, const PartTensors& needs);

/// The last part of the hook name for a term of the scores: "position.bias" gives "hook_position_bias".
/// @param term a name from AttentionFlow::terms
std::string scoreTermHook(std::string_view term);

/// Builds the attention of a site over whole sequences of site.sequence rows (0: one sequence of all rows), or
/// over the groups of rows of each sequence. With site.cacheCapacity it builds a step instead: the rows continue a
/// sequence at site.queryPosition, and keys, values or states are kept as stepExecution() says, which must not be
/// StepKind::Whole.
///
/// A mixer of the stream acts on site.input itself: no tensor is projected, and hook_z is what is added to the stream.
/// Those that keep a state for each token offer it, and their gates: hook_state, hook_cell, hook_forget_gate ... [T,C].
///
/// Where kernelRule() finds a rule, the fused kernel computes the attention; scores and pattern are then side branches
/// from the same q and k. Otherwise the spec's parts build it.
///
/// Probes: hook_q, hook_k, hook_v, hook_rot_q, hook_rot_k, hook_attn_scores, hook_pattern, hook_z, in the order of the
/// groups, with a leading axis of sequences if there are several and the parts build them. hook_attn_scores and
/// hook_pattern exist if the spec computes them. Each term of the scores other than q.k has a probe, such as
/// "hook_position_bias". A mask with spans adds hook_span [T,H], in tokens, of one sequence, and one that predicts a
/// position hook_predicted_position [T,H], an index of a key. Global tokens that have
/// projections of their own add hook_q_global, hook_k_global and hook_v_global. An effective pattern that is a product
/// also has probes of its factors, hook_pattern_queries [H,T,F] and hook_pattern_keys [H,S,F].
/// @param index the layer's number, from 0
/// @param needs receives the parameters, constants and penalties of the layer
/// @throws Error if the spec's parts do not combine, or if rows must not see each other and the spec computes no scores
AttentionNodes siteAttention(const LayerAttention& layer, const AttentionSite& site, int64_t index, PartTensors& needs);

/// Computes the keys and values of a site whose keyInput is set, and keeps them in states for plans with
/// AttentionSite::heldKeys. Probes: hook_k, hook_v.
/// @param site with cacheCapacity, the number of rows of the states
/// @return the writes to states
std::vector<std::pair<std::string, Tensor>> holdKeys(const LayerAttention& layer, const AttentionSite& site);

/// Adds the spec's position to the residual stream before a layer.
/// @param site its input is the residual stream, [rows, C]
/// @return the sum, of the same shape
Tensor attentionInputs(const LayerAttention& layer, const AttentionSite& site, int64_t index, PartTensors& needs);

/// The output of a sublayer, (x . W + b) times a scale for each feature, and its sum with the residual stream.
struct SublayerNodes {
    Tensor added;  ///< [T,C]
    Tensor output; ///< residual + added; null without a residual
};
/// Multiplies a sublayer's result by its last weight matrix and adds it to the residual stream.
/// @param x        [T,K]
/// @param weight   [C,K]
/// @param bias     [C]
/// @param scale    [C], or null. @source Touvron et al. 2021, "Going deeper with Image Transformers", arXiv:2103.17239
/// @param residual [T,C], or null
/// @param probe    hook name of what is added
SublayerNodes joinStream(Tensor x, Tensor weight, std::optional<Tensor> bias, Tensor scale, Tensor residual,
                         const std::string& probe);

} // namespace attn
