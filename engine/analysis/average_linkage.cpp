#include "engine/analysis/average_linkage.h"

#include <algorithm>

namespace attn {

std::vector<std::vector<size_t>> averageLinkage(std::vector<std::vector<double>> alike, double least) {
    const size_t count = alike.size(); // the entries of `alike` become sums over pairs of members
    std::vector<std::vector<size_t>> groups;
    for (size_t each = 0; each < count; ++each) groups.push_back({each});
    while (true) {
        size_t bestA = 0, bestB = 0;
        double best = least;
        for (size_t a = 0; a < count; ++a)
            for (size_t b = 0; b < a; ++b) {
                if (groups[a].empty() || groups[b].empty()) continue;
                const double mean = alike[a][b] / static_cast<double>(groups[a].size() * groups[b].size());
                if (mean < best) continue;
                best = mean;
                bestA = a;
                bestB = b;
            }
        if (bestA == bestB) break;
        groups[bestB].insert(groups[bestB].end(), groups[bestA].begin(), groups[bestA].end());
        groups[bestA].clear();
        for (size_t c = 0; c < count; ++c) alike[bestB][c] = alike[c][bestB] = alike[bestB][c] + alike[bestA][c];
    }
    std::erase_if(groups, [](const auto& group) { return group.empty(); });
    for (auto& group : groups) std::ranges::sort(group);
    std::ranges::sort(groups, {}, [](const auto& group) { return group.front(); });
    std::ranges::stable_sort(groups, [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return groups;
}

} // namespace attn
