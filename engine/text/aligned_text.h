#pragma once

#include "engine/text/encoding.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn {

class TextBudget;

/// A piece of text that records, for every byte, which bytes of the original text it came from.
class AlignedText {
public:
    AlignedText() : isCopy_(false) {}
    /// A copy of the original's bytes from `start`.
    AlignedText(std::string_view text, size_t start) : text_(text), start_(start) {}

    const std::string& text() const { return text_; }
    bool empty() const { return text_.empty(); }

    /// The range of the original that bytes [begin, end) came from. Inserted bytes have an empty range.
    ByteRange origin(size_t begin, size_t end) const;
    AlignedText slice(size_t begin, size_t end) const;

    /// Appends bytes that all came from one range of the original.
    void append(std::string_view bytes, ByteRange from);
    /// Appends bytes [begin, end) of another piece with their origins.
    void append(const AlignedText& other, size_t begin, size_t end);
    /// Inserts bytes without an origin at the beginning.
    void prepend(std::string_view bytes);
    /// Makes the first character begin at a place before it, where text was removed.
    void widenStart(size_t place);
    /// Replaces each match by `content`. @param matches ascending, without overlap
    /// @throws Error if the text becomes longer than the budget allows; checked before memory is taken
    AlignedText replaced(const std::vector<ByteRange>& matches, std::string_view content, TextBudget& budget) const;

private:
    ByteRange byteOrigin(size_t at) const { return isCopy_ ? ByteRange{start_ + at, start_ + at + 1} : origins_[at]; }
    void listOrigins();

    std::string text_;
    size_t start_ = 0;
    bool isCopy_ = true;             ///< byte i is byte start_ + i of the original, and origins_ is empty
    std::vector<ByteRange> origins_; ///< one per byte otherwise
};

} // namespace attn
