#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace attn {

/// Numbers that change from step to step. They live in one small device buffer (binding 0 of every shader, one 32-bit word
/// each, in this order), so changing one never re-plans or re-records anything.
enum class StepScalar : uint8_t {
    Step,        ///< counter of steps, for random numbers
    Seed,
    QueryLength, ///< live rows T of this step
    CacheOffset, ///< first row of the caches that this step writes
    KeyLength,   ///< live rows S of the caches once this step has written: CacheOffset + QueryLength
    Count
};

struct StepParams {
    std::array<uint32_t, 16> words{};
    uint32_t& operator[](StepScalar scalar) { return words[static_cast<std::size_t>(scalar)]; }
    uint32_t operator[](StepScalar scalar) const { return words[static_cast<std::size_t>(scalar)]; }
};

} // namespace attn
