#pragma once

#include <array>
#include <cstdint>

namespace attn {

/// Four random 32-bit words of a counter: the same inputs always give the same words, in any order.
/// @source Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3" (Philox4x32-10)
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Uniform in [0, 1) with 53 bits.
double uniform(uint64_t seed, uint64_t counter);

} // namespace attn
