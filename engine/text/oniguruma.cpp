#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/pattern.h"

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

struct Additions {
    std::string_view property, ranges;
};

// clang-format off
// The characters that have a property in Hugging Face's library but not in Unicode 14, the oldest version in a
// supported PCRE2. Some supported versions of ICU are older than the library. tests/golden/text/make_additions.py
// writes the table.
constexpr Additions kAdditions[] = {
    {"Lu",
     R"(\x{1C89}\x{A7CB}-\x{A7CC}\x{A7DA}\x{A7DC}\x{10D50}-\x{10D65})"},
    {"Ll",
     R"(\x{1C8A}\x{A7CD}\x{A7DB}\x{10D70}-\x{10D85}\x{1DF25}-\x{1DF2A})"},
    {"Lm",
     R"(\x{10D4E}\x{10D6F}\x{16D40}-\x{16D42}\x{16D6B}-\x{16D6C}\x{1E030}-\x{1E06D}\x{1E4EB})"},
    {"Lo",
     R"(\x{105C0}-\x{105F3}\x{10D4A}-\x{10D4D}\x{10D4F}\x{10EC2}-\x{10EC4}\x{1123F}-\x{11240}\x{11380}-\x{11389})"
     R"(\x{1138B}\x{1138E}\x{11390}-\x{113B5}\x{113B7}\x{113D1}\x{113D3}\x{11BC0}-\x{11BE0}\x{11F02})"
     R"(\x{11F04}-\x{11F10}\x{11F12}-\x{11F33}\x{1342F}\x{13441}-\x{13446}\x{13460}-\x{143FA}\x{16100}-\x{1611D})"
     R"(\x{16D43}-\x{16D6A}\x{18CFF}\x{1B132}\x{1B155}\x{1E4D0}-\x{1E4EA}\x{1E5D0}-\x{1E5ED}\x{1E5F0}\x{2B739})"
     R"(\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})"},
    {"Mn",
     R"(\x{897}\x{ECE}\x{10D69}-\x{10D6D}\x{10EFC}-\x{10EFF}\x{11241}\x{113BB}-\x{113C0}\x{113CE}\x{113D0})"
     R"(\x{113D2}\x{113E1}-\x{113E2}\x{11F00}-\x{11F01}\x{11F36}-\x{11F3A}\x{11F40}\x{11F42}\x{11F5A}\x{13440})"
     R"(\x{13447}-\x{13455}\x{1611E}-\x{16129}\x{1612D}-\x{1612F}\x{1E08F}\x{1E4EC}-\x{1E4EF}\x{1E5EE}-\x{1E5EF})"},
    {"Mc",
     R"(\x{CF3}\x{113B8}-\x{113BA}\x{113C2}\x{113C5}\x{113C7}-\x{113CA}\x{113CC}-\x{113CD}\x{113CF}\x{11F03})"
     R"(\x{11F34}-\x{11F35}\x{11F3E}-\x{11F3F}\x{11F41}\x{1612A}-\x{1612C})"},
    {"Nd",
     R"(\x{10D40}-\x{10D49}\x{116D0}-\x{116E3}\x{11BF0}-\x{11BF9}\x{11F50}-\x{11F59}\x{16130}-\x{16139})"
     R"(\x{16D70}-\x{16D79}\x{1CCF0}-\x{1CCF9}\x{1E4F0}-\x{1E4F9}\x{1E5F1}-\x{1E5FA})"},
    {"No",
     R"(\x{1D2C0}-\x{1D2D3})"},
    {"P",
     R"(\x{1B4E}-\x{1B4F}\x{1B7F}\x{10D6E}\x{113D4}-\x{113D5}\x{113D7}-\x{113D8}\x{11B00}-\x{11B09}\x{11BE1})"
     R"(\x{11F43}-\x{11F4F}\x{16D6D}-\x{16D6F}\x{1E5FF})"},
    {"S",
     R"(\x{2427}-\x{2429}\x{2FFC}-\x{2FFF}\x{31E4}-\x{31E5}\x{31EF}\x{10D8E}-\x{10D8F}\x{1CC00}-\x{1CCEF})"
     R"(\x{1CD00}-\x{1CEB3}\x{1F6DC}\x{1F774}-\x{1F776}\x{1F77B}-\x{1F77F}\x{1F7D9}\x{1F8B2}-\x{1F8BB})"
     R"(\x{1F8C0}-\x{1F8C1}\x{1FA75}-\x{1FA77}\x{1FA87}-\x{1FA89}\x{1FA8F}\x{1FAAD}-\x{1FAAF}\x{1FABB}-\x{1FABF})"
     R"(\x{1FAC6}\x{1FACE}-\x{1FACF}\x{1FADA}-\x{1FADC}\x{1FADF}\x{1FAE8}-\x{1FAE9}\x{1FAF7}-\x{1FAF8})"
     R"(\x{1FBCB}-\x{1FBEF})"},
    {"Alphabetic",
     R"(\x{897}\x{CF3}\x{10D69}\x{10EFC}\x{11241}\x{113B8}-\x{113C0}\x{113C2}\x{113C5}\x{113C7}-\x{113CA})"
     R"(\x{113CC}-\x{113CD}\x{11F00}-\x{11F01}\x{11F03}\x{11F34}-\x{11F3A}\x{11F3E}-\x{11F40}\x{1611E}-\x{1612E})"
     R"(\x{1E08F})"},
};
// clang-format on

/// The additions of a property, for a class in a regular expression; none for properties that no tokenizer uses.
std::string propertyAdditions(std::string_view property) {
    std::string ranges;
    for (const Additions& more : kAdditions) {
        const bool isInGroup = property.size() == 1 && more.property.starts_with(property);
        const bool isLetter = property == "Alphabetic" && more.property.starts_with('L');
        if (more.property == property || isInGroup || isLetter) ranges += more.ranges;
    }
    return ranges;
}

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
        if (source_.substr(at_, 1) == "]") { // a bracket in first place is an ordinary character
            out_ += "\\]";
            ++at_;
        }
    }

    /// The characters of a shorthand, placed inside the current class or as a class of its own.
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
            members(
                fmt::format("{}{}{}{}", kWord, propertyAdditions("L"), propertyAdditions("M"), propertyAdditions("Nd")),
                isNegated);
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
        const std::string more = propertyAdditions(name);
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
