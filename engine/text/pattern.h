#pragma once

#include "engine/text/encoding.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

class JsonNode;

/// A literal or a regular expression to find in text. Expressions are written in Oniguruma's syntax, as in
/// tokenizer.json, and run on PCRE2 with Unicode properties.
class Pattern {
public:
    static Pattern literal(std::string text);
    /// @throws Error when the expression is broken or uses syntax that PCRE2 gives another meaning
    static Pattern regex(std::string_view expression);
    /// {"String": ...} or {"Regex": ...}
    static Pattern parse(const JsonNode& node);

    /// All matches from left to right, without overlap.
    /// @param text valid UTF-8
    /// @throws Error when the expression needs too much time or memory on this text
    std::vector<ByteRange> find(std::string_view text) const;

private:
    struct Code;
    Pattern() = default;

    std::string literal_;
    std::shared_ptr<const Code> code_; ///< null for a literal
};

/// What \w matches in Rust's regular expressions, for use inside [...]; Oniguruma's \w differs in joiners and
/// superscripts.
inline constexpr std::string_view kRustWordMembers = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D})";

/// The same expression in PCRE2's syntax, with the character classes of the Unicode version that Hugging Face's library
/// has.
std::string translateFromOniguruma(std::string_view expression);

} // namespace attn
