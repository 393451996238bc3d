#pragma once

#include "engine/attention/mask/mask_size.h"
#include "engine/attention/part.h"
#include "engine/core/bit_row.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace attn {

/// The arguments of MaskTraits::row. Query i and key j count from 0.
struct MaskCall {
    MaskSize size;
    PartValues values;                 ///< of the term
    std::span<const int64_t> prepared; ///< the result of MaskTraits::prepare for them

    int64_t keys() const { return size.keys; }
    int64_t integer(std::string_view id) const { return values.integer(id); }
};

} // namespace attn
