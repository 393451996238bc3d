#pragma once

#include "engine/attention/layer_attention.h"
#include "engine/attention/mask/segments.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace attn {

/// Why the attention of a model cannot learn from hidden segments, and what can.
struct SegmentProblem {
    std::string sentence, remedy;
};
/// Checks that global tokens see their segments, that positions name the same segments, and that every layer can read
/// a segment alone. @param context largest number of tokens  @param segments of the task; with none, nothing is checked
/// @return none if the model can learn
std::optional<SegmentProblem> segmentProblem(std::span<const LayerAttention> layers, int64_t context,
                                             const Segments& segments);

/// The composition of ETC for segments: labels of pairs, and a global token that sees only its own segment.
std::string segmentedAttention(const Segments& segments);

} // namespace attn
