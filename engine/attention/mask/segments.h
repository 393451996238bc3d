#pragma once

#include <cstdint>

namespace attn {

/// A text behind its global tokens, cut into segments of equal length. Global token i stands for segment i.
/// @source Ainslie et al. 2020, "ETC", arXiv:2004.08483, section 3.2: sentences, or blocks of a fixed length
struct Segments {
    int64_t count = 0;  ///< of segments and of global tokens
    int64_t length = 0; ///< tokens in a segment

    /// The position of a segment's first token.
    int64_t begin(int64_t segment) const { return count + segment * length; }
    int64_t end() const { return begin(count); } ///< global tokens and segments together
    bool isGlobal(int64_t position) const { return position < count; }
    /// The segment that a global token stands for, or to which another token belongs; below 0: none.
    int64_t of(int64_t position) const {
        if (isGlobal(position)) return position;
        return position < end() ? (position - count) / length : -1;
    }
    bool operator==(const Segments&) const = default;
};

} // namespace attn
