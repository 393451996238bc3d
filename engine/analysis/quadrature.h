#pragma once

#include <vector>

namespace attn {

struct QuadratureNode {
    double at = 0, weight = 0;
};

/// Integrates over 0 to 1: exact for polynomials of degrees up to 2 count - 1.
/// @source Abramowitz and Stegun 1964, "Handbook of Mathematical Functions", 25.4.30 (Gauss-Legendre)
std::vector<QuadratureNode> gaussLegendre(int count);

} // namespace attn
