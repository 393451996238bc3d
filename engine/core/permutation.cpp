#include "engine/core/permutation.h"

#include "engine/core/error.h"

#include <fmt/format.h>

namespace attn {

std::vector<int64_t> inversePermutation(std::span<const double> order) {
    std::vector<int64_t> places(order.size(), -1);
    for (size_t place = 0; place < order.size(); ++place) {
        const double value = order[place];
        const bool isBeyond = value >= static_cast<double>(order.size());
        if (isBeyond || places[static_cast<size_t>(value)] >= 0)
            throw Error({.what = fmt::format("{} {}", value,
                                             isBeyond ? "does not belong in an order of " + std::to_string(order.size())
                                                      : "appears in the order twice"),
                         .hint = fmt::format("give each number from 0 to {} once", order.size() - 1)});
        places[static_cast<size_t>(value)] = static_cast<int64_t>(place);
    }
    return places;
}

} // namespace attn
