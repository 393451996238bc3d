#pragma once

#include <string_view>

namespace attn {

/// Describes one adjustable number so that controls, the command line and reference cards are generated from it.
struct Param {
    enum class Kind { Real, Integer, Toggle };

    std::string_view id;    ///< "temperature"
    std::string_view title; ///< "Temperature"
    std::string_view help;  ///< one sentence for the tooltip
    Kind kind = Kind::Real;
    double minimum = 0;
    double maximum = 1;
    double step = 0.01;
    double initial = 0;
    double usualMaximum = 0; ///< the end of a slider, where larger values are rare; 0: `maximum`
};

} // namespace attn
