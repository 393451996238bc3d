#pragma once

#include "engine/core/param.h"

namespace attn {

/// The longest sequence that the parameters of masks allow.
inline constexpr double kLongestMask = 65536;

/// Describes a parameter that is a whole number of tokens, blocks or steps.
constexpr Param wholeNumber(std::string_view id, std::string_view title, std::string_view help, double minimum,
                            double initial, double maximum = kLongestMask) {
    return {id, title, help, Param::Kind::Integer, minimum, maximum, 1, initial};
}

inline constexpr Param kSeedParam =
    wholeNumber("seed", "Seed", "The same seed always draws the same keys", 0, 1, 4294967295);

} // namespace attn
