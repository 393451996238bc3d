#pragma once

#include "engine/attention/mask/bit_row.h"
#include "engine/attention/mask/mask_size.h"
#include "engine/attention/part.h"

#include <cassert>
#include <cstdint>
#include <span>

namespace attn {

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
