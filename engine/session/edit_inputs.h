#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/runtime/gpu_executor.h"
#include "engine/session/hook_edits.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace attn {

/// "blocks.2.attn.hook_z".
std::string attentionHook(int layer, const char* hook);

/// What a run takes in the place of a hook x: kept * x + added.
struct EditInputs {
    std::span<float> kept, added;
    Shape shape;                                                             ///< of the hook
    size_t stride() const { return static_cast<size_t>(shape.rowStride()); } ///< of a row, in floats
    /// Another row in the place of one. @param row counted over all axes but the last  @param weights empty: its own
    void setRow(size_t row, std::span<const float> weights) const;
    void keepAll() const; ///< every row its own
};
/// Nothing where the run does not reach the hook, or takes it as it is.
std::optional<EditInputs> editInputs(GpuExecutor& executor, const std::string& hook);

/// The gates of heads whose pattern is formed in place of the kernel that takes them: z has them in what is kept.
/// @param executor with inputs for z that are already written; nothing happens where it takes the gates itself
/// @param tokens   the first ones of z, [T,H,D]
void writeGatesOfFormed(GpuExecutor& executor, int layer, size_t tokens, std::span<const float> gates);

/// The keys that a head's query sees by what its layer's composition says of places, content aside.
/// @param places queries and keys alike  @return that many: the place, or kHidden
std::vector<int> seenPlaces(const AttentionSpec& spec, int layer, int head, int heads, int query, int places);

} // namespace attn
