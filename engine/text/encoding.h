#pragma once

#include "engine/core/byte_range.h"

#include <string>
#include <vector>

namespace attn {

/// A text, or a pair of texts, as token ids. ranges[i] are the bytes of the original text that ids[i] came from; tokens
/// that the template adds (beginning and end of text) have an empty range. If a character becomes several tokens, each
/// has its own bytes, unless a normalizer replaced the character: then each has the whole character.
struct Encoding {
    std::vector<int> ids{};
    std::vector<ByteRange> ranges{};
    std::vector<int> types{}; ///< token types (segments): for BERT 0 in the first text and 1 in the second
    std::vector<int> texts{}; ///< the text of ranges[i]: 0, or 1 for the second of a pair
    /// The first kMostMissing different pieces of the text that have no token: characters, or whole words. The unknown
    /// token stands in their place, or nothing if the tokenizer has none.
    std::vector<std::string> missing{};
    static constexpr size_t kMostMissing = 7;
    bool operator==(const Encoding&) const = default;
};

} // namespace attn
