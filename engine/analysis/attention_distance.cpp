#include "engine/analysis/attention_distance.h"

#include <cmath>
#include <limits>

namespace attn {

std::vector<float> attentionDistances(const SitePattern& pattern, int64_t columns, int64_t patch) {
    pattern.requireWhole();
    const LayerLayout& layout = pattern.layout;
    const auto centres = layout.centres(columns);
    const auto heads = static_cast<size_t>(pattern.heads);
    std::vector<double> sums(heads, 0), distances;
    std::vector<int64_t> counted(heads, 0);
    layout.forRows([&](int64_t query, int64_t first, std::span<const int32_t> keys) {
        if (query < layout.prefix) return;
        const auto from = centres[static_cast<size_t>(query)];
        distances.clear();
        for (const int32_t key : keys) {
            const auto to = key < 0 ? from : centres[static_cast<size_t>(key)];
            distances.push_back(std::hypot(static_cast<double>(to[0] - from[0]), static_cast<double>(to[1] - from[1])));
        }
        for (size_t head = 0; head < heads; ++head) {
            const float* cells = pattern.values.data() + pattern.at(static_cast<int>(head), first);
            double weight = 0, weighted = 0;
            for (size_t i = 0; i < keys.size(); ++i) {
                if (keys[i] < layout.prefix) continue;
                weight += static_cast<double>(cells[i]);
                weighted += static_cast<double>(cells[i]) * distances[i];
            }
            if (!(weight > 0)) continue;
            sums[head] += weighted / weight;
            ++counted[head];
        }
    });
    std::vector<float> result;
    for (size_t head = 0; head < heads; ++head)
        result.push_back(counted[head] > 0 ? static_cast<float>(sums[head] / static_cast<double>(counted[head]) *
                                                                static_cast<double>(patch))
                                           : std::numeric_limits<float>::quiet_NaN());
    return result;
}

} // namespace attn
