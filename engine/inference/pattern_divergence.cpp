#include "engine/inference/pattern_divergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace attn {
namespace {

/// Of two rows, which are scaled to sum to 1; 0 if one has no weight.
double rowDivergence(std::vector<double> p, std::vector<double> q) {
    const double sumP = std::accumulate(p.begin(), p.end(), 0.0), sumQ = std::accumulate(q.begin(), q.end(), 0.0);
    if (sumP <= 0 || sumQ <= 0) return 0;
    for (double& each : p) each /= sumP;
    for (double& each : q) each /= sumQ;
    return jensenShannonBits(p, q);
}

} // namespace

double jensenShannonBits(std::span<const double> p, std::span<const double> q) {
    double bits = 0;
    for (size_t i = 0; i < p.size(); ++i) {
        const double middle = (p[i] + q[i]) / 2;
        if (p[i] > 0) bits += p[i] * std::log2(p[i] / middle) / 2;
        if (q[i] > 0) bits += q[i] * std::log2(q[i] / middle) / 2;
    }
    return std::clamp(bits, 0.0, 1.0);
}

double patternDivergence(const PatternTile& a, const PatternTile& b, std::span<const int> rows,
                         std::span<const int> columns) {
    double total = 0;
    int compared = 0;
    for (int row = 0; row < a.rows; ++row) {
        const int partner = rows[static_cast<size_t>(row)];
        if (partner < 0) continue;
        ++compared;
        std::vector<double> p, q;
        for (int column = 0; column < a.columns; ++column)
            if (const int other = columns[static_cast<size_t>(column)]; other >= 0) {
                p.push_back(static_cast<double>(a.at(row, column)));
                q.push_back(static_cast<double>(b.at(partner, other)));
            }
        total += rowDivergence(std::move(p), std::move(q));
    }
    return compared > 0 ? total / compared : 0;
}

std::optional<double> patternDivergence(const SitePattern& a, const SitePattern& b, int head) {
    const auto order = [](const SitePattern& each) {
        return each.layout.windows ? each.layout.windows->order : std::vector<int32_t>();
    };
    const bool isAlike = !a.values.empty() && !b.values.empty() && head < std::min(a.heads, b.heads) &&
                         a.layout.tokens == b.layout.tokens && a.layout.tokenOf == b.layout.tokenOf &&
                         order(a) == order(b);
    if (!isAlike) return {};
    double total = 0;
    a.layout.forRows([&](int64_t, int64_t first, std::span<const int32_t> keys) {
        std::vector<double> p, q;
        for (int64_t key = 0; key < std::ssize(keys); ++key) {
            p.push_back(static_cast<double>(a.values[a.at(head, first + key)]));
            q.push_back(static_cast<double>(b.values[b.at(head, first + key)]));
        }
        total += rowDivergence(std::move(p), std::move(q));
    });
    return a.layout.tokens > 0 ? total / static_cast<double>(a.layout.tokens) : 0;
}

} // namespace attn
