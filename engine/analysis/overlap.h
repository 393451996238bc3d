#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace attn {

/// The Bhattacharyya coefficient of two distributions: the sum of sqrt(p q), 1 if they are equal and 0 if they are
/// disjoint. Negative products count as 0. @pre p and q have the same size
/// @source Bhattacharyya 1943, "On a measure of divergence between two statistical populations"
inline double overlap(std::span<const float> p, std::span<const float> q) {
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i)
        sum += std::sqrt(std::max(0.0, static_cast<double>(p[i]) * static_cast<double>(q[i])));
    return sum;
}

} // namespace attn
