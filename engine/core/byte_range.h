#pragma once

#include <cstddef>

namespace attn {

/// Bytes [begin, end) of a text.
struct ByteRange {
    size_t begin = 0, end = 0;
    bool operator==(const ByteRange&) const = default;
};

} // namespace attn
