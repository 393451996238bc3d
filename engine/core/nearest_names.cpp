#include "engine/core/nearest_names.h"

#include <algorithm>
#include <utility>

namespace attn {
namespace {

size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = std::exchange(row[0], i);
        for (size_t j = 1; j <= b.size(); ++j)
            diagonal = std::exchange(row[j],
                                     std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)}));
    }
    return row.back();
}

} // namespace

std::vector<std::string> nearestNames(std::string_view name, const std::vector<std::string>& names, size_t count) {
    constexpr size_t kMost = 256; // bytes that are compared: the work grows with the product of both lengths
    std::vector<std::pair<size_t, std::string>> near;
    for (const std::string& other : names)
        near.emplace_back(editDistance(name.substr(0, kMost), std::string_view(other).substr(0, kMost)), other);
    std::ranges::sort(near);
    std::vector<std::string> nearest;
    for (size_t i = 0; i < std::min(count, near.size()); ++i) nearest.push_back(near[i].second);
    return nearest;
}

} // namespace attn
