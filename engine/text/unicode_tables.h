#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace attn::unicode {

/// One step of a character's canonical decomposition; `second` is 0 if the result is a single character.
struct Decomposition {
    char32_t character, first, second;
    bool composes; ///< first and second compose to the character (it is not excluded from composition)
};

/// Characters first..last have this canonical combining class; all others have 0.
struct CombiningClass {
    char32_t first, last;
    uint8_t value;
};

std::span<const Decomposition> decompositions();    ///< ascending by character; without Hangul syllables
std::span<const CombiningClass> combiningClasses(); ///< ascending
/// The ranges that have a property in Hugging Face's library but not in Unicode 14, the oldest version in a supported
/// PCRE2. They are written for a class in a regular expression, and empty for other properties. "P since 9" is the
/// punctuation that Unicode 8 lacks.
std::string_view propertyAdditions(std::string_view property);

/// What BERT's normalizer in Hugging Face's library removes: control, format and private characters; and, without
/// accents, marks that take no space. Its classes are those of Unicode 8.
bool isBertControl(char32_t code);
bool isBertMark(char32_t code);
/// The lowercase of a character. U+0130 stays: its lowercase has two characters.
char32_t lowercase(char32_t code);

} // namespace attn::unicode
