#pragma once

#include "engine/data/split.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace attn {

/// A stream of random numbers for one example. It is counter-based: any example can be drawn without those before it.
class Draws {
public:
    /// @param purpose gives different streams for the same seed and index
    Draws(uint64_t seed, uint64_t index, uint32_t purpose);

    /// A uniform number from 0 to bound - 1. @pre bound > 0
    int below(int bound);
    int between(int least, int most) { return least + below(most - least + 1); }
    bool chance(double probability);
    template <class T> const T& pick(std::span<const T> items) {
        return items[static_cast<size_t>(below(static_cast<int>(items.size())))];
    }
    template <class T> void shuffle(std::span<T> items) {
        for (size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[static_cast<size_t>(below(static_cast<int>(i)))]);
    }

private:
    uint32_t next();

    std::array<uint32_t, 2> key_;
    std::array<uint32_t, 4> counter_;
    std::array<uint32_t, 4> words_{};
    size_t used_ = 4;
};

/// 64-bit FNV-1a with a final mix; the same on every machine.
uint64_t hashOf(std::span<const int32_t> tokens);
uint64_t hashOf(std::string_view text);

/// The split of an example with this hash.
/// @param trainShare share for training; validation and test have half of the rest each
Split splitOf(uint64_t hash, double trainShare = 0.8);

} // namespace attn
