#pragma once

#include "engine/text/charsmap.h"
#include "engine/text/prefix_trie.h"

namespace attn {

/// SentencePiece's changes to a text before it is cut: it changes characters, removes extra spaces, and marks words by
/// a sign before them.
/// @source SentencePiece, normalizer.cc
struct SentencePieceNormalizer {
    Charsmap charsmap{};
    PrefixTrie kept{};              ///< texts that stay as they are, such as pieces that a person defined
    bool addsPrefix = true;         ///< a space before the first word
    bool prefixesOnlyFirst = false; ///< only at the beginning of the whole text, not behind a special token
    bool removesSpaces = true;      ///< at both ends, and all but one between words
    bool marksSpaces = true;        ///< a space becomes U+2581

    /// @throws Error if the text becomes too long
    AlignedText apply(const AlignedText& text, TextBudget& budget) const;
};

} // namespace attn
