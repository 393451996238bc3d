#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/inference/hook_changes.h"
#include "engine/runtime/gpu_executor.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace attn {

struct Site;

/// The inputs that change a hook x to kept * x + added.
struct ChangeInputs {
    std::span<float> kept, added;
    Shape shape;                                                             ///< shape of the hook
    size_t stride() const { return static_cast<size_t>(shape.rowStride()); } ///< floats per row, with padding
    /// Replaces a row. @param row index over all axes except the last  @param weights new values; empty: keep the row
    void setRow(size_t row, std::span<const float> weights) const;
    void keepAll() const; ///< keeps all rows
};
/// The inputs of a hook; none if the run does not reach or does not change it.
std::optional<ChangeInputs> changeInputs(GpuExecutor& executor, const std::string& hook);

/// Multiplies the kept part of z by the gates of heads, for layers that form a pattern and so do not run the kernel
/// that applies gates.
/// @param executor with inputs for z that are already written; no effect if it applies the gates itself
/// @param tokens   number of leading tokens of z, [T,H,D]
void writeGatesOfFormed(GpuExecutor& executor, const Site& site, size_t tokens, std::span<const float> gates);

/// The keys that a query sees by the positions in the composition of its layer, without terms that depend on content.
/// @param places number of queries and of keys  @return [places]: the place, or kHidden
std::vector<int> seenPlaces(const AttentionSpec& spec, int layer, int head, int heads, int query, int places);

} // namespace attn
