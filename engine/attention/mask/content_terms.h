#pragma once

#include "engine/attention/part.h"

namespace attn {

/// Masks that depend on queries and keys: they have hooks at Stage::Mask instead of rows of bits.
extern const Part kAdaptiveSpanMask, kDynamicSpanMask;

} // namespace attn
