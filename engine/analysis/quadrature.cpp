#include "engine/analysis/quadrature.h"

#include <cmath>
#include <numbers>

namespace attn {

std::vector<QuadratureNode> gaussLegendre(int count) {
    std::vector<QuadratureNode> nodes;
    for (int node = 0; node < count; ++node) {
        // A root of the Legendre polynomial of degree `count`, by Newton's method.
        double x = -std::cos(std::numbers::pi * (node + 0.75) / (count + 0.5)), slope = 1;
        for (int round = 0; round < 100; ++round) {
            double value = 1, before = 0;
            for (int degree = 1; degree <= count; ++degree) {
                const double next = ((2 * degree - 1) * x * value - (degree - 1) * before) / degree;
                before = value;
                value = next;
            }
            slope = count * (x * value - before) / (x * x - 1);
            const double step = value / slope;
            x -= step;
            if (std::abs(step) < 1e-15) break;
        }
        nodes.push_back({.at = (x + 1) / 2, .weight = 1 / ((1 - x * x) * slope * slope)});
    }
    return nodes;
}

} // namespace attn
