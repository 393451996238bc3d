#pragma once

#include <cstdint>

namespace attn {

/// Which mask is asked for: masks have no size of their own, and may differ from head to head and layer to layer.
struct MaskSize {
    int64_t queries = 1; ///< T
    int64_t keys = 1;    ///< S
    int head = 0;
    int heads = 1;
    int layer = 0;
    bool operator==(const MaskSize&) const = default;
};

} // namespace attn
