#pragma once

#include <cstdint>

// Numbers of 16 bits: IEEE 754 binary16, or bfloat16 if `isBrain`.

namespace attn::host {

/// Rounds to nearest even: see halfOf() and brainOf().
void narrow(bool isBrain, int64_t count, const float* x, uint16_t* out);
/// Exact: see floatOfHalf() and floatOfBrain().
void widen(bool isBrain, int64_t count, const uint16_t* x, float* out);

} // namespace attn::host
