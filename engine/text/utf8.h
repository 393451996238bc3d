#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::utf8 {

/// What stands at a place in a byte string: a character, the beginning of one cut off by the end, or bytes that are no
/// UTF-8 (length: the maximal subpart, which one U+FFFD replaces).
/// @source Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts"
struct Step {
    enum class Kind { Character, CutOff, Invalid } kind = Kind::Invalid;
    size_t length = 1;
};

/// @param at less than text.size()
Step stepAt(std::string_view text, size_t at);

/// Offset of the first byte that is not UTF-8.
std::optional<size_t> firstInvalid(std::string_view text);

/// The character at a place of valid text; moves `at` behind it.
char32_t next(std::string_view text, size_t& at);

/// Where the character that ends at `end` of valid text begins; `end` > 0.
size_t previous(std::string_view text, size_t end);

void append(std::string& text, char32_t character);
std::string encode(char32_t character);

/// Unicode's White_Space, which is what \s means to Hugging Face's tokenizers.
bool isWhitespace(char32_t character);

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD"; // U+FFFD

} // namespace attn::utf8
