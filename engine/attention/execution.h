#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/attention/part.h"
#include "engine/ops/ops.h"

#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// Whether the block-sparse kernel can compute a whole sequence, in memory that grows with the tokens and the visible
/// tiles of the mask. Scores and pattern are then side branches, computed only by plans that request them.
bool isFused(const AttentionSpec& spec);

/// The rule by which the kernel of a whole sequence or of a cache computes a spec's scores and mask: all keys, or the
/// last ones before the query. Queries and keys may be turned before it.
/// @param length of the sequence, at which the mask is evaluated  @param headWidth D
/// @return nothing if the kernel cannot compute them
std::optional<AttentionRule> kernelRule(const AttentionSpec& spec, int64_t length, int64_t headWidth, int layer = 0);

/// Whether a spec adds nothing to the rows before or after the attention and leaves the block around it alone.
bool isBare(const AttentionSpec& spec);

/// Whether a part of a spec acts at a stage.
bool hasHooks(const AttentionSpec& spec, Stage stage);

/// The part that mixes the rows: the mixer, or the normaliser of an attention.
const Part& coreOf(const AttentionSpec& spec);

/// Whether some query sees a key after its own position, at the longest sequence, or after the last one that a residual
/// which moves rows allows. Terms of the mask that depend on the content are left out.
bool looksAhead(const AttentionSpec& spec, int64_t context, int layer = 0);

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
    /// For Kernel, and for Cache where the fused kernel computes z from a bias by distance that the parts give it.
    std::optional<AttentionRule> rule{};
    std::string reason{}; ///< of Whole: a sentence
};
/// @param context the longest sequence, at which masks are evaluated  @param headWidth D
StepExecution stepExecution(const AttentionSpec& spec, int64_t context, int64_t headWidth, int layer = 0);

} // namespace attn
