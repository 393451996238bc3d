#pragma once

#include "engine/host/rows.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace attn::host {

/// A few rows of x. Each group of 32 numbers is stored as integers of 21 bits times a scale. The error of a number is
/// at most 2^-21 of the largest of its group, about as much as adding a row of floats costs.
struct IntegerRows {
    static constexpr int kDigits = 3, kDigitBits = 7;
    static constexpr int64_t kGroup = 32, kGroups = 8, kSuper = kGroup * kGroups;

    /// Eight groups.
    struct alignas(64) Super {
        /// Digits from -64 to 63, the highest digit first. Number i of group g is at
        /// i / 8 * 64 + g / 4 * 32 + i / 4 % 2 * 16 + g % 4 * 4 + i % 4.
        std::array<std::array<int8_t, kSuper>, kDigits> digits;
        std::array<float, 2 * kGroups> factors; ///< the scales, then the sums made negative
    };
    std::vector<Super> supers; ///< [rows * K / 256]
};

/// The instructions of x86-64 processors that multiply in integers.
enum class IntegerInstructions : uint8_t { Avx2, Avx512Vnni };
/// The instructions of this processor, the fastest first.
std::span<const IntegerInstructions> integerInstructions();

/// @return false without such instructions, if K is no multiple of 256, or if a group holds a number above 1e30 or all
/// of it is below 1e-30
bool splitRows(const SkinnyProduct& product, IntegerRows& rows);

} // namespace attn::host
