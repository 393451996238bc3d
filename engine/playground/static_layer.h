#pragma once

#include "engine/attention/attention_spec.h"

namespace attn {

/// A static linear layer over tokens to compare an attention with: the same heads and mask, and weights that are
/// learned numbers instead of being computed from the input.
AttentionSpec staticLayerLike(const AttentionSpec& spec);

} // namespace attn
