#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Whether one character stands for several when case is ignored, as U+00DF for ss. The ranges have more characters.
bool foldsToSeveral(char32_t character);

/// A set of characters in PCRE2's syntax, with the Unicode version of Hugging Face's library.
/// @source Oniguruma 6.9, doc/RE and unicode_property_data.c
class CharacterSet {
public:
    /// @param letter s, d, w or h; in brackets, w has no superscripts and fractions
    static CharacterSet ofShorthand(char letter, bool isInBrackets);
    /// The set of \p{name}, or of [:name:]: their "punct" differ. @return none if this program does not know the name
    static std::optional<CharacterSet> ofProperty(std::string_view name, bool isBracket);

    void add(char32_t first, char32_t last);
    void add(const CharacterSet& other);
    CharacterSet complement() const;
    CharacterSet both(const CharacterSet& other) const; ///< the intersection

    bool hasLetters() const { return hasLetters_; } ///< whether it may have some that stand for several, without case
    bool hasOneCase() const { return hasOneCase_; } ///< whether it has letters of one case by a property
    std::string expression() const;                 ///< matches one character

private:
    static CharacterSet ofMembers(std::string members, bool hasLetters, bool hasOneCase = false);

    std::string members_;             ///< for use inside [...]
    std::vector<std::string> others_; ///< expressions of one character
    bool hasLetters_ = false, hasOneCase_ = false;
};

} // namespace attn
