#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/pattern.h"
#include "engine/text/unicode_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace attn {
namespace {

// What Oniguruma's shorthands contain, for use inside [...]. PCRE2's \s also has U+180E, and before 10.43 its
// \w has no marks.
constexpr std::string_view kWhitespace =
    R"(\t-\r\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
constexpr std::string_view kHexadecimal = "0-9A-Fa-f";

using unicode::propertyAdditions;

class Translator {
public:
    explicit Translator(std::string_view source) : source_(source) {}

    std::string run() {
        while (at_ < source_.size()) {
            const char c = source_[at_];
            if (c == '\\') {
                escape();
            } else if (c == '[' && !inClass_) {
                beginClass();
            } else if (inClass_ && c == '[' && source_.substr(at_, 2) == "[:") {
                const size_t end = source_.find(":]", at_);
                copy(end == std::string_view::npos ? 1 : end + 2 - at_);
            } else if (inClass_ && (c == '[' || source_.substr(at_, 2) == "&&")) {
                throw Error(
                    {.what = fmt::format("the regular expression {} combines character classes", printable(source_)),
                     .hint = "use a tokenizer whose expressions have no class inside a class"});
            } else {
                if (c == ']') inClass_ = false;
                copy(1);
            }
        }
        return std::move(out_);
    }

private:
    void copy(size_t length) {
        out_ += source_.substr(at_, length);
        at_ += length;
    }

    void beginClass() {
        inClass_ = true;
        copy(1);
        if (source_.substr(at_, 1) == "^") copy(1);
        if (source_.substr(at_, 1) == "]") { // a bracket in first place is a member
            out_ += "\\]";
            ++at_;
        }
    }

    /// A shorthand by its members: in place inside a class, else as a class of its own.
    void members(std::string_view content, bool isNegated) {
        if (inClass_)
            out_ += content;
        else
            out_ += fmt::format("[{}{}]", isNegated ? "^" : "", content);
    }

    void escape() {
        const char letter = at_ + 1 < source_.size() ? source_[at_ + 1] : '\0';
        const bool isNegated = std::isupper(static_cast<unsigned char>(letter)) != 0;
        switch (letter) {
        case 's':
        case 'd':
        case 'w':
        case 'h':
        case 'S':
        case 'D':
        case 'W':
        case 'H':
            shorthand(letter, isNegated);
            break;
        case 'p':
        case 'P':
            property(isNegated);
            break;
        case 'u':
            out_ += fmt::format("\\x{{{}}}", source_.substr(std::min(at_ + 2, source_.size()), 4));
            at_ = std::min(at_ + 6, source_.size());
            break;
        default:
            copy(std::min<size_t>(2, source_.size() - at_));
            break;
        }
    }

    void shorthand(char letter, bool isNegated) {
        if (inClass_ && isNegated) {
            // A complement cannot be listed: use PCRE2's own, plus the one space that is not in Unicode's White_Space.
            copy(2);
            if (letter == 'S') out_ += "\\x{180E}";
            return;
        }
        at_ += 2;
        switch (std::tolower(static_cast<unsigned char>(letter))) {
        case 's':
            members(kWhitespace, isNegated);
            break;
        case 'w':
            members(fmt::format("{}{}", kWord, propertyAdditions("w")), isNegated);
            break;
        case 'd':
            members(fmt::format("\\p{{Nd}}{}", propertyAdditions("Nd")), isNegated);
            break;
        default:
            members(kHexadecimal, isNegated);
            break;
        }
    }

    void property(bool isNegated) {
        const size_t end = source_.find('}', at_);
        if (source_.substr(at_ + 2, 1) != "{" || end == std::string_view::npos) {
            copy(std::min<size_t>(2, source_.size() - at_));
            return;
        }
        const std::string_view whole = source_.substr(at_, end + 1 - at_);
        std::string_view name = whole.substr(3, whole.size() - 4);
        bool isComplement = isNegated;
        if (name.starts_with('^')) {
            isComplement = !isComplement;
            name.remove_prefix(1);
        }
        const std::string_view more = propertyAdditions(name);
        if (more.empty() || (inClass_ && isComplement)) {
            copy(whole.size());
            return;
        }
        at_ += whole.size();
        members(fmt::format("\\p{{{}}}{}", name, more), isComplement);
    }

    std::string_view source_;
    size_t at_ = 0;
    bool inClass_ = false;
    std::string out_;
};

} // namespace

std::string translateFromOniguruma(std::string_view expression) { return Translator(expression).run(); }

} // namespace attn
