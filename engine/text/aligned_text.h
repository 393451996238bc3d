#pragma once

#include "engine/text/encoding.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A piece of text on its way to tokens that remembers, for every byte, which bytes of the original it came from.
class AlignedText {
public:
    AlignedText() : isCopy_(false) {}
    /// A copy of the original's bytes from `start`.
    AlignedText(std::string_view text, size_t start) : text_(text), start_(start) {}

    const std::string& text() const { return text_; }
    bool empty() const { return text_.empty(); }

    /// The bytes of the original behind [begin, end): from the first to the last. Inserted bytes have an empty range.
    ByteRange origin(size_t begin, size_t end) const;
    AlignedText slice(size_t begin, size_t end) const;

    /// Adds bytes that all came from one range.
    void append(std::string_view bytes, ByteRange from);
    /// Adds bytes [begin, end) of another piece with their origins.
    void append(const AlignedText& other, size_t begin, size_t end);
    void prepend(std::string_view bytes);
    /// Puts `content` in the place of each match; matches are ascending and do not overlap.
    AlignedText replaced(const std::vector<ByteRange>& matches, std::string_view content) const;

private:
    ByteRange byteOrigin(size_t at) const { return isCopy_ ? ByteRange{start_ + at, start_ + at + 1} : origins_[at]; }
    void listOrigins();

    std::string text_;
    size_t start_ = 0;
    bool isCopy_ = true;             ///< byte i is byte start_ + i of the original, and origins_ is empty
    std::vector<ByteRange> origins_; ///< one per byte otherwise
};

} // namespace attn
