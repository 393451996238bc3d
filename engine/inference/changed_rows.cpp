#include "engine/inference/changed_rows.h"

#include <algorithm>
#include <numeric>

namespace attn {

PooledRow::PooledRow(const Pixels& pixels) : pixels_(pixels), pooled_(static_cast<size_t>(pixels.count), 0) {}

void PooledRow::add(std::span<const float> weights) {
    ++queries_;
    const int64_t first = std::max<int64_t>(pixels_.firstKey, pixels_.hidesFirst ? 1 : 0);
    const int64_t end = std::min({pixels_.firstKey + (int64_t{pixels_.count} << pixels_.level),
                                  static_cast<int64_t>(weights.size()), pixels_.tokens});
    double left = 1;
    if (pixels_.hidesFirst && !weights.empty()) left = std::accumulate(weights.begin() + 1, weights.end(), 0.0);
    if (left < 1e-6) return; // rounding error of a row with all weight on the first token
    for (int64_t key = first; key < end; ++key) {
        double& pixel = pooled_[static_cast<size_t>((key - pixels_.firstKey) >> pixels_.level)];
        const double weight = static_cast<double>(weights[static_cast<size_t>(key)]) / left;
        pixel = pixels_.pooling == Pooling::Mean ? pixel + weight : std::max(pixel, weight);
    }
}

void PooledRow::addPooled(std::span<const float> pixels) {
    ++queries_;
    for (int at = 0; at < pixels_.count; ++at) {
        double& pixel = pooled_[static_cast<size_t>(at)];
        const auto value = static_cast<double>(pixels[static_cast<size_t>(at)]);
        pixel =
            pixels_.pooling == Pooling::Mean ? pixel + value * static_cast<double>(keysOf(at)) : std::max(pixel, value);
    }
}

int64_t PooledRow::keysOf(int pixel) const {
    const int64_t first = pixels_.firstKey + (int64_t{pixel} << pixels_.level);
    const int64_t end = std::min(first + (int64_t{1} << pixels_.level), pixels_.tokens);
    return std::max<int64_t>(end - std::max<int64_t>(first, pixels_.hidesFirst ? 1 : 0), 0);
}

std::vector<float> PooledRow::values() const {
    std::vector<float> values;
    for (int at = 0; at < pixels_.count; ++at) {
        const double pooled = pooled_[static_cast<size_t>(at)];
        const auto cells = static_cast<double>(queries_ * keysOf(at));
        values.push_back(static_cast<float>(pixels_.pooling == Pooling::Maximum ? pooled
                                            : cells > 0                         ? pooled / cells
                                                                                : 0));
    }
    return values;
}

} // namespace attn
