#pragma once

#include "engine/attention/part.h"

namespace attn {

/// Masks that depend on what the tokens say: hooks at Stage::Mask rather than rows of bits.
extern const Part kLshMask, kRoutingMask, kAdaptiveSpanMask;

} // namespace attn
