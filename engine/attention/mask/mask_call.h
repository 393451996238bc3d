#pragma once

#include "engine/attention/mask/bit_row.h"
#include "engine/attention/part.h"

#include <cassert>
#include <cstdint>
#include <span>

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

/// What a term of a mask sees. Query i and key j count from 0.
struct MaskCall {
    MaskSize size;
    PartValues values;                 ///< the term's arguments
    std::span<const int64_t> prepared; ///< what Part::prepareMask made of them

    int64_t keys() const { return size.keys; }
    /// An argument that is an integer.
    int64_t operator[](size_t index) const {
        assert(index < values.size());
        return static_cast<int64_t>(values[index]);
    }
};

} // namespace attn
