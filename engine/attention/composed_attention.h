#pragma once

#include "engine/attention/flow.h"
#include "engine/attention/self_attention.h"
#include "engine/graph/plan.h"

#include <string>
#include <string_view>

namespace attn {

/// Tensors that a composed layer adds to a model; the owner of the parameters must provide them.
struct ComposedNeeds {
    std::vector<FlowParameter> parameters; ///< learned by its parts
    std::vector<FlowConstant> constants;
    std::vector<Tensor> penalties; ///< [1] each, added to the loss
};

/// The constants that a plan reads.
std::vector<const FlowConstant*> usedConstants(const Plan& plan, const ComposedNeeds& needs);

/// The last part of the hook name for a term of the scores: "position.bias" gives "hook_position_bias".
/// @param term a name from AttentionFlow::terms
std::string scoreTermHook(std::string_view term);

/// Builds the self-attention of the layer's spec over whole sequences of site.sequence rows (0: one sequence of all
/// rows), or over the groups of rows of each sequence. Positions count from 0. With site.cacheCapacity it builds a step
/// instead: the rows continue a sequence at site.queryPosition, and keys, values or states are kept as stepExecution()
/// says, which must not be StepKind::Whole.
///
/// The probes are those of selfAttention, in the order of the groups, with a leading axis of sequences if there are
/// several. hook_attn_scores and hook_pattern exist if the spec computes them. Each term of the scores other than q.k
/// has a probe, such as "hook_position_bias". An effective pattern that is a product also has probes of its factors,
/// hook_pattern_queries [H,T,F] and hook_pattern_keys [H,S,F].
/// @param index the layer's number, from 0
/// @param needs receives the parameters, constants and penalties of the layer
/// @throws Error if the spec's parts do not combine, or if rows must not see each other and the spec computes no scores
AttentionNodes composedAttention(const LayerAttention& layer, const AttentionSite& site, int64_t index,
                                 ComposedNeeds& needs);

/// Adds the spec's position to the residual stream before a layer.
/// @param site its input is the residual stream, [rows, C]
/// @return the sum, of the same shape
Tensor composedInputs(const LayerAttention& layer, const AttentionSite& site, int64_t index, ComposedNeeds& needs);

} // namespace attn
