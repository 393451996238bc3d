#pragma once

#include "engine/text/encoding.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

class JsonNode;
class TextBudget;

/// A literal or a regular expression to find in text. tokenizer.json writes expressions in Oniguruma's syntax; they run
/// on PCRE2 with Unicode properties.
class Pattern {
public:
    static Pattern literal(std::string text);
    /// Compiles an expression in Oniguruma's syntax.
    /// @throws Error if the expression is invalid, too long, or uses syntax that has another meaning in PCRE2
    static Pattern regex(std::string_view expression);
    /// Reads {"String": ...} or {"Regex": ...}. @throws Error naming file and field
    static Pattern parse(const JsonNode& node);

    /// Finds all matches from left to right, without overlap.
    /// @param text valid UTF-8  @param budget for the whole text of which this is a part
    /// @throws Error if the expression needs too much time or memory for this text
    std::vector<ByteRange> find(std::string_view text, TextBudget& budget) const;

private:
    struct Code;
    class Search;
    Pattern() = default;

    std::string literal_;
    std::shared_ptr<const Code> code_; ///< null for a literal
};

/// The characters that \w matches in Rust's regular expressions, for use inside [...]; Oniguruma's \w differs in
/// joiners and superscripts.
inline constexpr std::string_view kRustWordMembers = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D})";

/// Translates an expression to PCRE2's syntax, with the character classes of the Unicode version that Hugging Face's
/// library uses. @throws Error naming the expression and the part that has no equal in PCRE2
std::string translateFromOniguruma(std::string_view expression);

} // namespace attn
