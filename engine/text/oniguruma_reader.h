#pragma once

#include "engine/text/oniguruma_sets.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace attn {

/// Reads the characters and the sets of characters of an expression in Oniguruma's syntax, from a place that moves on.
/// @source Oniguruma 6.9, doc/RE, ONIG_SYNTAX_ONIGURUMA
class OnigurumaReader {
protected:
    explicit OnigurumaReader(std::string_view source) : source_(source) {}

    /// @throws Error naming the expression. @param what continues it, as in "repeats nothing"
    [[noreturn]] void refuse(std::string_view what) const;

    char at(size_t offset) const { return at_ + offset < source_.size() ? source_[at_ + offset] : '\0'; }
    /// Whether the text comes next: moves past it.
    bool takes(std::string_view text);
    /// The text up to a mark, and moves past both.
    std::string_view textBefore(std::string_view mark, std::string_view what);
    /// A number in digits. @return none if there are too few or too many, or other characters
    static std::optional<char32_t> numberOf(std::string_view digits, int base);

    /// \s, \D, \p{L}, \P{^L}: moves past it. @return none if there is none
    std::optional<CharacterSet> shorthand();
    /// An escaped character: moves past it. @return none if the escape means something else
    std::optional<char32_t> codePoint(bool isInClass);
    /// The set in brackets, whose first one was read. Sets may lie in one another, and && intersects them.
    CharacterSet bracket(bool ignoresCase);

    std::string_view source_;
    size_t at_ = 0;

private:
    /// \x{E9} or \x41, and the bytes of one character as \xC3\xA9.
    char32_t hexadecimal();
    /// @param digits that the escape takes; 0: they were taken
    char32_t checked(std::optional<char32_t> character, size_t digits);
    /// [:alpha:] or brackets within brackets.
    CharacterSet inner(bool ignoresCase);

    int depth_ = 0; ///< of brackets
};

} // namespace attn
