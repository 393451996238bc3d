#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace attn::unicode {

/// A character's canonical decomposition, one step; second is 0 for a single character.
struct Decomposition {
    char32_t character, first, second;
    bool composes; ///< first and second combine to the character again (not excluded from composition)
};

/// Characters first..last have this canonical combining class; all others have 0.
struct CombiningClass {
    char32_t first, last;
    uint8_t value;
};

std::span<const Decomposition> decompositions();    ///< ascending by character; without Hangul syllables
std::span<const CombiningClass> combiningClasses(); ///< ascending
/// Ranges, written for a regular expression's class, that belong to a property in Hugging Face's library but not in
/// Unicode 14, the oldest version that a supported PCRE2 has; empty for other properties. "P since 9" is the
/// punctuation that Unicode 8 did not have.
std::string_view propertyAdditions(std::string_view property);

} // namespace attn::unicode
