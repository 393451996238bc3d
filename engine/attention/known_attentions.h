#pragma once

#include "engine/core/citation.h"

#include <span>
#include <string_view>

namespace attn {

/// The attention of a known model, as a composition.
struct KnownAttention {
    std::string_view title; ///< of the model: "GPT-2"
    std::string_view idea;  ///< one sentence
    std::string_view spec;  ///< for AttentionSpec::parse(), with fewer heads and smaller windows than the model's: they
                            ///< suit a drawing of 32 tokens
    Citation source;
};
/// Every known attention, in the order in which a reader should meet them.
std::span<const KnownAttention> knownAttentions();

} // namespace attn
