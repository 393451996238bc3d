#pragma once

#include <cstdint>

namespace attn {

/// The size of the mask to compute, with its head and layer: a mask expression has no size of its own, and may differ
/// from head to head and layer to layer.
struct MaskSize {
    int64_t queries = 1; ///< T
    int64_t keys = 1;    ///< S
    int head = 0;
    int heads = 1;
    int layer = 0;
    bool operator==(const MaskSize&) const = default;
};

} // namespace attn
