#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/ops/ops.h"

#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// Whether the block-sparse kernel can compute a whole sequence, in memory that grows with the tokens and the visible
/// tiles of the mask. Scores and pattern are then side branches, computed only by plans that request them.
bool isFused(const AttentionSpec& spec);

/// How an attention computes the next tokens of a sequence.
enum class StepKind : uint8_t {
    Kernel, ///< the fused kernel over a cache of keys and values
    Cache,  ///< rows of scores over a cache of keys and values
    State,  ///< a running state: the cost does not grow with the length
    Whole   ///< the whole sequence runs again
};
/// "kernel", "cache", "state" or "whole".
std::string_view nameOf(StepKind kind);

/// The way in which a spec computes the next tokens, worked out from its parts.
struct StepExecution {
    StepKind kind = StepKind::Whole;
    AttentionRule rule{}; ///< of Kernel
    std::string reason{}; ///< of Whole: a sentence
};
/// @param context the longest sequence, at which masks are evaluated  @param headWidth D
StepExecution stepExecution(const AttentionSpec& spec, int64_t context, int64_t headWidth, int layer = 0);

} // namespace attn
