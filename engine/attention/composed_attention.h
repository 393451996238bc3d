#pragma once

#include "engine/attention/flow.h"
#include "engine/attention/self_attention.h"
#include "engine/graph/plan.h"

#include <string>
#include <string_view>

namespace attn {

/// What a composed layer needs of whoever owns its weights.
struct ComposedNeeds {
    std::vector<FlowParameter> parameters; ///< that its parts learn
    std::vector<FlowConstant> constants;
    std::vector<Tensor> penalties; ///< [1] each, for the loss
};

/// Those of the constants that a plan reads.
std::vector<const FlowConstant*> usedConstants(const Plan& plan, const ComposedNeeds& needs);

/// What the probe of a term of the scores ends in (AttentionFlow::terms): "hook_position_bias".
std::string scoreTermHook(std::string_view term);

/// Self-attention of the layer's spec over whole sequences of site.sequence rows (0: one sequence of all rows), or over
/// the groups of each. There is no cache, and positions count from 0.
///
/// Probes as of selfAttention, in the order of the groups, with a leading axis of sequences where there are several;
/// hook_attn_scores and hook_pattern where the spec has them, and one for each term of the scores besides q.k:
/// "hook_position_bias". An effective pattern that is a product also has its factors, hook_pattern_queries [H,T,F] and
/// hook_pattern_keys [H,S,F].
/// @param index of the layer
AttentionNodes composedAttention(const LayerAttention& layer, const AttentionSite& site, int64_t index,
                                 ComposedNeeds& needs);

/// What the spec's position adds to the stream before a layer. @param site its input is the stream, [rows, C]
/// @return the same shape
Tensor composedInputs(const LayerAttention& layer, const AttentionSite& site, int64_t index, ComposedNeeds& needs);

} // namespace attn
