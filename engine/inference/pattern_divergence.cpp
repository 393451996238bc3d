#include "engine/inference/pattern_divergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace attn {

double jensenShannonBits(std::span<const double> p, std::span<const double> q) {
    double bits = 0;
    for (size_t i = 0; i < p.size(); ++i) {
        const double middle = (p[i] + q[i]) / 2;
        if (p[i] > 0) bits += p[i] * std::log2(p[i] / middle) / 2;
        if (q[i] > 0) bits += q[i] * std::log2(q[i] / middle) / 2;
    }
    return std::clamp(bits, 0.0, 1.0);
}

double patternDivergence(const PatternTile& a, const PatternTile& b, std::span<const int> partners) {
    double total = 0;
    int rows = 0;
    for (int row = 0; row < a.rows; ++row) {
        const int partner = partners[static_cast<size_t>(row)];
        if (partner < 0) continue;
        ++rows;
        std::vector<double> p, q;
        for (int column = 0; column < a.columns; ++column)
            if (const int other = partners[static_cast<size_t>(column)]; other >= 0) {
                p.push_back(static_cast<double>(a.at(row, column)));
                q.push_back(static_cast<double>(b.at(partner, other)));
            }
        const double sumP = std::accumulate(p.begin(), p.end(), 0.0), sumQ = std::accumulate(q.begin(), q.end(), 0.0);
        if (sumP <= 0 || sumQ <= 0) continue;
        for (double& each : p) each /= sumP;
        for (double& each : q) each /= sumQ;
        total += jensenShannonBits(p, q);
    }
    return rows > 0 ? total / rows : 0;
}

} // namespace attn
