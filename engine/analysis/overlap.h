#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace attn {

/// Of two distributions: the sum of sqrt(p q), 1 where they are equal and 0 where they have nothing in common. What is
/// below 0 counts as 0. @pre they have as many places
/// @source Bhattacharyya 1943, "On a measure of divergence between two statistical populations"
inline double overlap(std::span<const float> p, std::span<const float> q) {
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i)
        sum += std::sqrt(std::max(0.0, static_cast<double>(p[i]) * static_cast<double>(q[i])));
    return sum;
}

} // namespace attn
