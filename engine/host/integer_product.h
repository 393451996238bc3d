#pragma once

#include "engine/core/storage.h"
#include "engine/host/rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// Products with q4_0 and q4_k weights in integers, in which processors with AVX-512 VNNI are faster than in widening
// numbers of four bits to floats.

namespace attn::host {

/// A few rows of x, of whose numbers each group of 32 is integers of 21 bits times a scale. The error of a number is at
/// most 2^-21 of the largest of its group: about what adding a row of floats costs.
struct IntegerRows {
    static constexpr int kDigits = 3, kDigitBits = 7;
    /// Digits from -64 to 63, the highest first [rows * K]. Of each 128 numbers, the first half of each group comes
    /// first.
    std::array<std::vector<int8_t>, kDigits> digits;
    std::vector<float> factors; ///< of each 8 groups: their scales, then their sums made negative
};

/// @return false without these instructions, if K is no multiple of 256, or if a group holds a number above 1e30 or all
/// of it is below 1e-30
bool splitRows(const SkinnyProduct& product, IntegerRows& rows);

/// compactProduct() of q4_0 and q4_k. @param rows of product.x, from splitRows()
void integerProduct(const SkinnyProduct& product, Storage storage, const IntegerRows& rows, const std::byte* w,
                    int64_t begin, int64_t end);

} // namespace attn::host
