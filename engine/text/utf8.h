#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn::utf8 {

/// The content of a byte string at a position: a character, the beginning of a character that the end cuts off, or
/// bytes that are not UTF-8 (`length` is the maximal subpart, which one U+FFFD replaces).
/// @source Unicode 15, section 3.9, "U+FFFD Substitution of Maximal Subparts"
struct Step {
    enum class Kind { Character, CutOff, Invalid } kind = Kind::Invalid;
    size_t length = 1;
};

/// Examines the bytes at a position. @param at less than text.size()
Step stepAt(std::string_view text, size_t at);

/// The offset of the first byte that is not UTF-8; none if the text is valid.
std::optional<size_t> firstInvalid(std::string_view text);

/// Reads the character at a position of valid text and moves `at` past it.
char32_t next(std::string_view text, size_t& at);

/// The offset at which the character that ends at `end` begins. @param text valid UTF-8  @param end above 0
size_t previous(std::string_view text, size_t end);

void append(std::string& text, char32_t character);
std::string encode(char32_t character);

/// Whether a character has Unicode's property White_Space, the meaning of \s in Hugging Face's tokenizers.
bool isWhitespace(char32_t character);

/// The major version of Unicode that introduced a character; 0 if ICU does not have it. Hugging Face's tokenizers
/// follow old versions in some places. The result does not depend on the version of ICU.
int unicodeVersion(char32_t character);

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD"; // U+FFFD

} // namespace attn::utf8
