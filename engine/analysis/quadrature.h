#pragma once

#include <vector>

namespace attn {

/// A point from 0 to 1 and its weight.
struct QuadratureNode {
    double at = 0, weight = 0;
};

/// The Gauss-Legendre rule for integrals from 0 to 1. It is exact for polynomials up to degree 2 * count - 1.
/// @source Abramowitz and Stegun 1964, "Handbook of Mathematical Functions", 25.4.30 (Gauss-Legendre)
std::vector<QuadratureNode> gaussLegendre(int count);

} // namespace attn
