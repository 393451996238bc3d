#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace attn {

/// Draws four random 32-bit words. The same counter and key always give the same words, in any order of calls.
/// @source Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3" (Philox4x32-10)
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A random number, uniform in [0, 1) with 53 bits, that depends only on seed and counter.
double uniform(uint64_t seed, uint64_t counter);

/// The seed of a random stream of its own for a named thing: each name and each seed draws other numbers.
/// It is the same on every machine.
/// @source Fowler, Noll and Vo, "The FNV Non-Cryptographic Hash Algorithm" (FNV-1a, 64 bits)
uint64_t streamSeed(uint64_t seed, std::string_view name);

} // namespace attn
