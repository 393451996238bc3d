#pragma once

#include "engine/core/param_values.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attn {

/// Where a part sits in an AttentionSpec, in the order in which a reader should meet them.
enum class Slot : uint8_t {
    Heads,
    Projections,
    Position,
    Score,
    Mask,
    Normaliser,
    Memory,
    Output,
    Mixer,
    Norm,
    FeedForward,
    Residual,
    Layers
};
inline constexpr std::array<std::string_view, 13> kSlotNames{"heads",        "projections", "position", "score", "mask",
                                                             "normaliser",   "memory",      "output",   "mixer", "norm",
                                                             "feed_forward", "residual",    "layers"};
constexpr std::string_view nameOf(Slot slot) { return kSlotNames[static_cast<size_t>(slot)]; }

/// A part's values, read by Param::id.
using PartValues = ParamValues;

} // namespace attn
