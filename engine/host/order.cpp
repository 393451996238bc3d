#include "engine/host/order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace attn::host {
namespace {

/// A whole number that grows with x; -0 counts as 0.
uint32_t rankOf(float x) {
    const auto bits = std::bit_cast<uint32_t>(x + 0.0f);
    return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

/// Integers whose order is the order of the columns: the rank of a column in the upper half, its index in the lower
/// half.
std::vector<uint64_t>& keysOf(int64_t columns) {
    thread_local std::vector<uint64_t> keys;
    keys.resize(static_cast<size_t>(columns));
    return keys;
}

} // namespace

void sortOrder(int64_t columns, const float* x, int32_t* order) {
    std::vector<uint64_t>& keys = keysOf(columns);
    for (size_t c = 0; c < keys.size(); ++c) {
        const float value = std::isnan(x[c]) ? std::numeric_limits<float>::infinity() : x[c];
        keys[c] = static_cast<uint64_t>(rankOf(value)) << 32 | c;
    }
    std::ranges::sort(keys);
    for (size_t c = 0; c < keys.size(); ++c) order[c] = static_cast<int32_t>(keys[c] & 0xffffffffu);
}

void topK(int64_t columns, const float* x, int64_t k, float* values, int32_t* indices) {
    std::vector<uint64_t>& keys = keysOf(columns);
    for (size_t c = 0; c < keys.size(); ++c) keys[c] = static_cast<uint64_t>(~rankOf(x[c])) << 32 | c;
    std::partial_sort(keys.begin(), keys.begin() + k, keys.end());
    for (int64_t i = 0; i < k; ++i) {
        indices[i] = static_cast<int32_t>(keys[static_cast<size_t>(i)] & 0xffffffffu);
        values[i] = x[indices[i]];
    }
}

} // namespace attn::host
