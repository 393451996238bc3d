#include "engine/text/oniguruma_sets.h"

#include "engine/text/pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace attn {
namespace {

// What Oniguruma's shorthands contain, for use inside [...]. PCRE2's \s also has U+180E, and before 10.43 its
// \w has no marks.
constexpr std::string_view kWhitespace =
    R"(\t-\r\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kSuperscripts = R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})"; // only in \w without brackets

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

std::string membersOf(std::string_view property) {
    return fmt::format("\\p{{{}}}{}", property, propertyAdditions(property));
}

struct Category {
    std::string_view name, letters;
};
/// The long names of general categories, without blanks and lines.
constexpr std::array kCategories{Category{"letter", "L"},
                                 Category{"casedletter", "L&"},
                                 Category{"lc", "L&"},
                                 Category{"uppercaseletter", "Lu"},
                                 Category{"lowercaseletter", "Ll"},
                                 Category{"titlecaseletter", "Lt"},
                                 Category{"modifierletter", "Lm"},
                                 Category{"otherletter", "Lo"},
                                 Category{"mark", "M"},
                                 Category{"combiningmark", "M"},
                                 Category{"nonspacingmark", "Mn"},
                                 Category{"spacingmark", "Mc"},
                                 Category{"enclosingmark", "Me"},
                                 Category{"number", "N"},
                                 Category{"decimalnumber", "Nd"},
                                 Category{"letternumber", "Nl"},
                                 Category{"othernumber", "No"},
                                 Category{"punctuation", "P"},
                                 Category{"connectorpunctuation", "Pc"},
                                 Category{"dashpunctuation", "Pd"},
                                 Category{"openpunctuation", "Ps"},
                                 Category{"closepunctuation", "Pe"},
                                 Category{"initialpunctuation", "Pi"},
                                 Category{"finalpunctuation", "Pf"},
                                 Category{"otherpunctuation", "Po"},
                                 Category{"symbol", "S"},
                                 Category{"mathsymbol", "Sm"},
                                 Category{"currencysymbol", "Sc"},
                                 Category{"modifiersymbol", "Sk"},
                                 Category{"othersymbol", "So"},
                                 Category{"separator", "Z"},
                                 Category{"spaceseparator", "Zs"},
                                 Category{"lineseparator", "Zl"},
                                 Category{"paragraphseparator", "Zp"},
                                 Category{"control", "Cc"},
                                 Category{"format", "Cf"},
                                 Category{"privateuse", "Co"}};
/// The short ones that are the same in PCRE2. Cn and C are not here: they depend on the version of Unicode.
constexpr std::array<std::string_view, 35> kLetters{
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "L&"};
/// Binary properties with the same name in PCRE2.
constexpr std::array<std::string_view, 10> kBinary{
    "emoji", "emojipresentation", "extendedpictographic", "ideographic", "dash", "hexdigit", "diacritic", "cased",
    "math",  "quotationmark"};

/// The general category with a name without blanks, in lower case; empty: it is none.
std::string_view categoryOf(std::string_view name) {
    const auto found = std::ranges::find(kCategories, name, &Category::name);
    if (found != kCategories.end()) return found->letters;
    for (const std::string_view letters : kLetters)
        if (std::ranges::equal(letters, name, [](unsigned char a, unsigned char b) { return std::tolower(a) == b; }))
            return letters;
    return {};
}

std::string allAdditions() {
    std::string ranges;
    for (const Additions& more : kAdditions) ranges += more.ranges;
    return ranges;
}

} // namespace

bool foldsToSeveral(char32_t c) {
    constexpr std::u32string_view kOthers = U"\u00DF\u0130\u0149\u01F0\u0390\u03B0\u0587\u1E9E";
    return kOthers.find(c) != std::u32string_view::npos || (c >= 0x1E96 && c <= 0x1E9A) ||
           (c >= 0x1F50 && c <= 0x1FFF) || (c >= 0xFB00 && c <= 0xFB17);
}

void CharacterSet::add(char32_t first, char32_t last) {
    members_ += fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(first));
    if (last != first) members_ += fmt::format("-\\x{{{:X}}}", static_cast<uint32_t>(last));
    hasLetters_ = hasLetters_ || (first == last ? foldsToSeveral(first) : last >= 0x80);
}

void CharacterSet::add(const CharacterSet& other) {
    members_ += other.members_;
    others_.insert(others_.end(), other.others_.begin(), other.others_.end());
    hasLetters_ = hasLetters_ || other.hasLetters_;
    hasOneCase_ = hasOneCase_ || other.hasOneCase_;
}

std::string CharacterSet::expression() const {
    if (others_.empty()) return members_.empty() ? "(?!)" : fmt::format("[{}]", members_);
    if (members_.empty() && others_.size() == 1) return others_.front();
    return fmt::format("(?:{}{})", members_.empty() ? "" : fmt::format("[{}]|", members_), fmt::join(others_, "|"));
}

CharacterSet CharacterSet::complement() const {
    CharacterSet result;
    result.hasLetters_ = true;
    result.hasOneCase_ = hasOneCase_;
    result.others_.push_back(!others_.empty()   ? fmt::format("(?:(?!{})(?s:.))", expression())
                             : members_.empty() ? "(?s:.)"
                                                : fmt::format("[^{}]", members_));
    return result;
}

CharacterSet CharacterSet::both(const CharacterSet& other) const {
    CharacterSet result;
    result.hasLetters_ = hasLetters_ || other.hasLetters_;
    result.hasOneCase_ = hasOneCase_ || other.hasOneCase_;
    result.others_.push_back(fmt::format("(?:(?={}){})", expression(), other.expression()));
    return result;
}

CharacterSet CharacterSet::ofMembers(std::string members, bool hasLetters, bool hasOneCase) {
    CharacterSet result;
    result.members_ = std::move(members);
    result.hasLetters_ = hasLetters;
    result.hasOneCase_ = hasOneCase;
    return result;
}

CharacterSet CharacterSet::ofShorthand(char letter, bool isInBrackets) {
    switch (letter) {
    case 's':
        return ofMembers(std::string(kWhitespace), false);
    case 'd':
        return ofMembers(membersOf("Nd"), false);
    case 'h': {
        CharacterSet digits;
        for (const auto& [first, last] : {std::pair{U'0', U'9'}, {U'A', U'F'}, {U'a', U'f'}}) digits.add(first, last);
        return digits;
    }
    default:
        return ofMembers(fmt::format("{}{}{}{}{}", kWord, isInBrackets ? "" : kSuperscripts, propertyAdditions("L"),
                                     propertyAdditions("M"), propertyAdditions("Nd")),
                         true);
    }
}

std::optional<CharacterSet> CharacterSet::ofProperty(std::string_view text, bool isBracket) {
    std::string name;
    for (const char c : text)
        if (c != ' ' && c != '_' && c != '-') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (name.empty() || !std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0; })) return {};
    if (name == "alpha" || name == "alphabetic") return ofMembers(membersOf("Alphabetic"), true);
    if (name == "digit") return ofShorthand('d', isBracket);
    if (name == "alnum") return ofMembers(membersOf("Alphabetic") + membersOf("Nd"), true);
    if (name == "upper" || name == "uppercase")
        return ofMembers(fmt::format("\\p{{Uppercase}}{}", propertyAdditions("Lu")), true, true);
    if (name == "lower" || name == "lowercase")
        return ofMembers(fmt::format("\\p{{Lowercase}}{}\\x{{1E030}}-\\x{{1E06D}}", propertyAdditions("Ll")), true,
                         true);
    if (name == "space" || name == "whitespace") return ofShorthand('s', isBracket);
    if (name == "word") return ofShorthand('w', isBracket);
    if (name == "blank") return ofMembers("\\t\\p{Zs}", false);
    if (name == "cntrl") return ofMembers("\\p{Cc}", false);
    if (name == "xdigit" || name == "asciihexdigit") return ofShorthand('h', isBracket);
    if (name == "punct") return ofMembers(isBracket ? membersOf("P") + membersOf("S") : membersOf("P"), false);
    CharacterSet all;
    if (name == "ascii") all.add(0, 0x7F);
    if (name == "ascii") return all;
    if (name == "any") return ofMembers("\\x{0}-\\x{10FFFF}", true);
    if (name == "graph" || name == "print") {
        CharacterSet result = ofMembers(fmt::format("{}\\p{{Cc}}\\p{{Cn}}\\p{{Cs}}",
                                                    name == "graph" ? kWhitespace : "\\x{2028}\\x{2029}"),
                                        true)
                                  .complement();
        result.add(ofMembers(allAdditions(), true));
        return result;
    }
    if (isBracket || name == "cn" || name == "c" || name == "cs" || name == "unassigned" || name == "other") return {};
    if (const std::string_view letters = categoryOf(name); !letters.empty())
        return ofMembers(letters == "L&"
                             ? fmt::format("\\p{{L&}}{}{}", propertyAdditions("Lu"), propertyAdditions("Ll"))
                             : membersOf(letters),
                         letters.starts_with('L') || letters.starts_with('M'),
                         letters == "Lu" || letters == "Ll" || letters == "Lt");
    if (std::ranges::count(kBinary, name) > 0) return ofMembers(fmt::format("\\p{{{}}}", name), true);
    // PCRE2's \p{Han} has also characters that several scripts share.
    const bool isHan = name == "han" || name == "hani";
    return ofMembers(
        fmt::format("\\p{{sc:{}}}{}", name, isHan ? R"(\x{2B739}\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})" : ""), true);
}

} // namespace attn
