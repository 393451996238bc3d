#include "engine/session/attention_distance.h"

#include "engine/core/error.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace attn {

std::vector<float> attentionDistances(std::span<const float> pattern, int64_t heads, int64_t prefix,
                                      const ImageSize& grid, int64_t patch) {
    const int64_t patches = grid.area(), tokens = prefix + patches;
    if (static_cast<int64_t>(pattern.size()) != heads * tokens * tokens)
        throw Error({.what = fmt::format("a pattern has {} numbers, not {} heads of {} x {}", pattern.size(), heads,
                                         tokens, tokens),
                     .where = "attention distance",
                     .hint = "give the pattern of one layer"});
    std::vector<double> distances; // by rows and columns between two patches
    for (int64_t down = 0; down < grid.height; ++down)
        for (int64_t right = 0; right < grid.width; ++right)
            distances.push_back(std::hypot(static_cast<double>(down), static_cast<double>(right)) *
                                static_cast<double>(patch));
    std::vector<float> result;
    for (int64_t head = 0; head < heads; ++head) {
        double sum = 0;
        int64_t counted = 0;
        for (int64_t query = 0; query < patches; ++query) {
            const float* row = pattern.data() + (head * tokens + prefix + query) * tokens + prefix;
            double weight = 0, weighted = 0;
            for (int64_t key = 0; key < patches; ++key) {
                const int64_t down = std::abs(key / grid.width - query / grid.width),
                              right = std::abs(key % grid.width - query % grid.width);
                weight += static_cast<double>(row[key]);
                weighted += static_cast<double>(row[key]) * distances[static_cast<size_t>(down * grid.width + right)];
            }
            if (!(weight > 0)) continue;
            sum += weighted / weight;
            ++counted;
        }
        result.push_back(counted > 0 ? static_cast<float>(sum / static_cast<double>(counted))
                                     : std::numeric_limits<float>::quiet_NaN());
    }
    return result;
}

} // namespace attn
