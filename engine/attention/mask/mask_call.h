#pragma once

#include "engine/attention/mask/bit_row.h"
#include "engine/attention/mask/mask_size.h"
#include "engine/attention/part.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

/// What a term of a mask sees. Query i and key j count from 0.
struct MaskCall {
    MaskSize size;
    PartValues values;                 ///< the term's arguments
    std::span<const int64_t> prepared; ///< what Part::prepareMask made of them

    int64_t keys() const { return size.keys; }
    int64_t integer(std::string_view id) const { return values.integer(id); }
};

} // namespace attn
