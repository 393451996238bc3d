#include "engine/analysis/token_alignment.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace attn {

std::vector<int> alignTokens(std::span<const int> a, std::span<const int> b) {
    std::vector<int> partners(a.size(), -1);
    if (std::max(a.size(), b.size()) > kMostAligned) {
        std::iota(partners.begin(), partners.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), 0);
        return partners;
    }
    // Row i, column j: the length of the longest alignment of a from i on and b from j on.
    const size_t width = b.size() + 1;
    std::vector<uint16_t> lengths((a.size() + 1) * width, 0);
    for (size_t i = a.size(); i-- > 0;)
        for (size_t j = b.size(); j-- > 0;)
            lengths[i * width + j] = a[i] == b[j] ? static_cast<uint16_t>(lengths[(i + 1) * width + j + 1] + 1)
                                                  : std::max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    size_t i = 0, j = 0, gapA = 0, gapB = 0; // gaps start after the last pair
    const auto closeGap = [&] {
        if (i - gapA == j - gapB)
            for (size_t at = gapA; at < i; ++at) partners[at] = static_cast<int>(gapB + at - gapA);
    };
    while (i < a.size() && j < b.size()) {
        if (a[i] == b[j]) {
            closeGap();
            partners[i] = static_cast<int>(j);
            gapA = ++i;
            gapB = ++j;
        } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
            ++i;
        } else {
            ++j;
        }
    }
    i = a.size();
    j = b.size();
    closeGap();
    return partners;
}

} // namespace attn
