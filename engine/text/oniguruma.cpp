#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/oniguruma_sets.h"
#include "engine/text/pattern.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace attn {
namespace {

/// A number in digits. @return none if there are too few or too many, or other characters
std::optional<char32_t> numberOf(std::string_view digits, int base) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return {};
    return static_cast<char32_t>(value);
}

bool isOneOf(char32_t c, std::u32string_view list) { return list.find(c) != std::u32string_view::npos; }

/// Whether one letter may stand for these two when case is ignored. Some pairs more are counted.
bool foldTogether(char32_t a, char32_t b) {
    const auto lower = [](char32_t c) { return c == 0x17F ? U's' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
    const char32_t first = lower(a), second = lower(b);
    const bool isArmenian = first >= 0x531 && first <= 0x587 && second >= 0x531 && second <= 0x587;
    return (first == 's' && isOneOf(second, U"st")) || (first == 'f' && isOneOf(second, U"fil")) || first == 0x2BC ||
           isArmenian || isOneOf(second, U"\u02BE\u0307\u0308\u030A\u030C\u0313\u0331\u0342\u0345\u0399\u03B9\u1FBE");
}

/// @source Oniguruma 6.9, doc/RE, ONIG_SYNTAX_ONIGURUMA
class Translator {
public:
    explicit Translator(std::string_view source) : source_(source) {}

    std::string run() {
        groups_.emplace_back();
        while (at_ < source_.size()) part();
        if (groups_.size() > 1) refuse("has a group without an end");
        closeOptions();
        return std::move(out_);
    }

private:
    struct Group {
        size_t begin = 0; ///< in the result
        int open = 0;     ///< groups that options opened in it
        bool ignoresCase = false, skipsBlanks = false, spansLines = false;
    };
    static constexpr size_t kNone = std::string::npos;

    [[noreturn]] void refuse(std::string_view what) const {
        throw Error({.what = fmt::format("the regular expression {} {}", printable(source_), what),
                     .hint = "use a tokenizer.json without this part of the expression, or enter token ids"});
    }

    char at(size_t offset) const { return at_ + offset < source_.size() ? source_[at_ + offset] : '\0'; }
    bool takes(std::string_view text) {
        if (!source_.substr(at_).starts_with(text)) return false;
        at_ += text.size();
        return true;
    }
    /// The text up to a mark, and moves past both.
    std::string_view textBefore(std::string_view mark, std::string_view what) {
        const size_t end = source_.find(mark, at_);
        if (end == std::string_view::npos) refuse(fmt::format("has {} without an end", what));
        const std::string_view text = source_.substr(at_, end - at_);
        at_ = end + mark.size();
        return text;
    }

    // ------------------------------------------------------------ parts

    void part() {
        const char c = at(0);
        if (groups_.back().skipsBlanks && std::string_view(" \t\n\r\f").find(c) != std::string_view::npos) {
            ++at_;
        } else if (groups_.back().skipsBlanks && c == '#') {
            at_ = std::min(source_.find('\n', at_), source_.size());
        } else if (c == '(') {
            group();
        } else if (c == ')') {
            closeGroup();
        } else if (c == '|') {
            ++at_;
            put("|");
            atom_ = kNone;
        } else if (c == '[') {
            ++at_;
            put(bracket().expression());
        } else if (c == '.' || c == '^' || c == '$') {
            put(std::string(1, c));
            ++at_;
        } else if (c == '\\') {
            escape();
        } else if (c == '*' || c == '+' || c == '?') {
            ++at_;
            repeat(std::string(1, c), false);
        } else if (c != '{' || !interval()) {
            literal(utf8::next(source_, at_));
        }
    }

    /// Writes what a repetition may follow.
    void put(std::string_view text) {
        atom_ = out_.size();
        isRepeated_ = false;
        last_ = 0;
        out_ += text;
    }

    void literal(char32_t c) {
        const bool isSharp = groups_.back().ignoresCase && (c == 0xDF || c == 0x1E9E);
        if (isSharp && !(last_ != 0 && foldTogether(last_, U's'))) {
            put(R"((?:\x{DF}|\x{1E9E}|ss))");
            last_ = U's';
            return;
        }
        if (groups_.back().ignoresCase && (foldsToSeveral(c) || (last_ != 0 && foldTogether(last_, c))))
            refuse("ignores case where one letter stands for several, which is not supported");
        const bool isPlain = (c < 0x80 && std::isalnum(static_cast<unsigned char>(c)) != 0) || c == ' ';
        put(isPlain ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(c)));
        last_ = c;
    }

    // ------------------------------------------------------------ repetitions

    /// @param isFixed whether {n} is written, which has no lazy form
    void repeat(const std::string& times, bool isFixed) {
        if (atom_ == kNone) refuse("repeats nothing");
        if (isRepeated_) {
            out_.insert(atom_, "(?:");
            out_ += ')';
        }
        out_ += times;
        isRepeated_ = true;
        last_ = 0;
        const bool isInterval = times.size() > 1;
        if (at(0) == '?' && !isFixed) {
            ++at_;
            out_ += '?';
        } else if (at(0) == '+' && !isInterval) {
            ++at_;
            out_ += '+';
        }
    }

    /// {n}, {n,}, {,n} or {n,m}. @return whether there is one; else the brace is an ordinary character
    bool interval() {
        const size_t end = source_.find('}', at_);
        if (end == std::string_view::npos) return false;
        const std::string_view text = source_.substr(at_ + 1, end - at_ - 1);
        const size_t comma = text.find(',');
        const std::string_view low = text.substr(0, comma),
                               high = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
        const auto isNumber = [](std::string_view digits) {
            return std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; });
        };
        if (!isNumber(low) || !isNumber(high) || (low.empty() && high.empty())) return false;
        const auto least = low.empty() ? char32_t{0} : numberOf(low, 10), most = numberOf(high, 10);
        if (!least || (most && *most < *least))
            refuse(fmt::format("has a repetition {{{}}} that is not supported", text));
        at_ = end + 1;
        const bool isFixed = comma == std::string_view::npos;
        repeat(isFixed ? fmt::format("{{{}}}", low) : fmt::format("{{{},{}}}", low.empty() ? "0" : low, high), isFixed);
        return true;
    }

    // ------------------------------------------------------------ groups

    void group() {
        if (source_.substr(at_).starts_with("(*")) refuse("has a callout (*...), which is not supported");
        Group group = groups_.back();
        group.begin = out_.size();
        group.open = 0;
        if (takes("(?#")) {
            textBefore(")", "a comment");
            return;
        }
        for (const char* begin : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"})
            if (takes(begin)) return openGroup(group, begin);
        if (takes("(?<")) {
            const std::string_view name = textBefore(">", "the name of a group");
            const bool isName =
                !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
            if (!isName) refuse("has a group with a name that is not supported");
            hasNames_ = true;
            return openGroup(group, fmt::format("(?<{}>", name));
        }
        if (!takes("(?")) {
            ++at_;
            ++numbered_;
            return openGroup(group, "(");
        }
        options(group);
        const std::string begin = beginOf(group);
        if (source_[at_++] == ':') return openGroup(group, begin);
        // Options without a group last to the end of the group around them, across its alternatives.
        put(begin);
        atom_ = kNone;
        group.begin = groups_.back().begin;
        group.open = groups_.back().open + 1;
        groups_.back() = group;
    }

    /// Reads options up to : or ).
    void options(Group& group) {
        bool isOn = true;
        for (; at(0) != ':' && at(0) != ')'; ++at_) {
            if (at(0) == '-')
                isOn = false;
            else if (at(0) == 'i')
                group.ignoresCase = isOn;
            else if (at(0) == 'x')
                group.skipsBlanks = isOn;
            else if (at(0) == 'm') // the dot matches the end of a line
                group.spansLines = isOn;
            else
                refuse(fmt::format("has a group (?{}...), which is not supported", printable(source_.substr(at_, 1))));
        }
    }

    static std::string beginOf(const Group& group) {
        const std::string on = fmt::format("{}{}", group.ignoresCase ? "i" : "", group.spansLines ? "s" : ""),
                          off = fmt::format("{}{}", group.ignoresCase ? "" : "i", group.spansLines ? "" : "s");
        return fmt::format("(?{}{}{}:", on, off.empty() ? "" : "-", off);
    }

    void openGroup(const Group& group, std::string_view begin) {
        if (groups_.size() > 200) refuse("has too many groups within one another");
        put(begin);
        atom_ = kNone;
        groups_.push_back(group);
    }

    void closeOptions() { out_.append(static_cast<size_t>(groups_.back().open), ')'); }

    void closeGroup() {
        ++at_;
        if (groups_.size() == 1) refuse("ends a group that it does not begin");
        closeOptions();
        out_ += ')';
        atom_ = groups_.back().begin;
        isRepeated_ = false;
        last_ = 0;
        groups_.pop_back();
    }

    // ------------------------------------------------------------ escapes

    void escape() {
        if (const auto set = shorthand()) {
            // PCRE2's newer versions change case in properties.
            const std::string text = set->expression();
            return put(groups_.back().ignoresCase && set->hasLetters() ? fmt::format("(?-i:{})", text) : text);
        }
        if (const auto character = codePoint(false)) return literal(*character);
        const char letter = at(1);
        at_ += 2;
        switch (letter) {
        case 'A':
        case 'z':
        case 'Z':
        case 'G':
        case 'K':
        case 'X':
        case 'N':
            return put(fmt::format("\\{}", letter));
        case 'O':
            return put("(?s:.)");
        case 'R':
            return put(R"((?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]))");
        case 'b':
        case 'B': {
            const std::string word = CharacterSet::ofShorthand('w', false).expression();
            return put(letter == 'b' ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word)
                                     : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word));
        }
        case 'k':
            return reference();
        default:
            break;
        }
        if (letter >= '1' && letter <= '9') {
            const bool isLonger = std::isdigit(static_cast<unsigned char>(at(0))) != 0;
            if (hasNames_ || isLonger || letter - '0' > numbered_)
                refuse(fmt::format("refers to a group by \\{}, which is not supported here", letter));
            return put(fmt::format("\\g{{{}}}", letter));
        }
        refuse(fmt::format("has \\{}, which is not supported",
                           printable(std::string_view(&letter, letter == '\0' ? 0 : 1))));
    }

    /// \k<name>
    void reference() {
        const char begin = at(0);
        if (begin != '<' && begin != '\'') refuse("has \\k without a name");
        ++at_;
        const std::string_view name = textBefore(begin == '<' ? ">" : "'", "the name of a group");
        const bool isPlain = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
            return std::isalnum(c) != 0 || c == '_';
        });
        if (!isPlain || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
            refuse(fmt::format("refers to a group by \\k<{}>, which is not supported", printable(name)));
        put(fmt::format("\\k<{}>", name));
    }

    /// \s, \D, \p{L}, \P{^L}: moves past it. @return none if there is none
    std::optional<CharacterSet> shorthand() {
        const char letter = at(1), small = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        const bool isNegated = letter != small;
        if (small == 's' || small == 'd' || small == 'w' || small == 'h') {
            at_ += 2;
            const CharacterSet set = CharacterSet::ofShorthand(small, depth_ > 0);
            return isNegated ? set.complement() : set;
        }
        if (small != 'p' || at(2) != '{') return {};
        at_ += 3;
        std::string_view name = textBefore("}", "a property");
        const bool isComplement = isNegated != name.starts_with('^');
        if (name.starts_with('^')) name.remove_prefix(1);
        const auto set = CharacterSet::ofProperty(name, false);
        if (!set) refuse(fmt::format("has the property {}, which is not supported", printable(name)));
        return isComplement ? set->complement() : *set;
    }

    /// An escaped character: moves past it. @return none if the escape means something else
    std::optional<char32_t> codePoint(bool isInClass) {
        const char letter = at(1);
        const auto simple = [&](char32_t c) {
            at_ += 2;
            return c;
        };
        switch (letter) {
        case '\0':
            if (at_ + 1 >= source_.size()) refuse("ends with \\");
            return simple(0);
        case 't':
            return simple('\t');
        case 'n':
            return simple('\n');
        case 'r':
            return simple('\r');
        case 'f':
            return simple('\f');
        case 'v':
            return simple('\v');
        case 'a':
            return simple('\a');
        case 'e':
            return simple(0x1B);
        case 'x':
            return hexadecimal();
        case 'u':
            at_ += 2;
            return checked(numberOf(source_.substr(std::min(at_, source_.size()), 4), 16), 4);
        case 'o': {
            if (at(2) != '{') return simple('o');
            at_ += 3;
            return checked(numberOf(textBefore("}", "\\o{"), 8), 0);
        }
        case 'c': {
            const char control = at(2);
            if (std::isalpha(static_cast<unsigned char>(control)) == 0) refuse("has \\c without a letter");
            at_ += 3;
            return static_cast<char32_t>(control & 0x1F);
        }
        case 'b':
            return isInClass ? std::optional(simple('\b')) : std::nullopt;
        default:
            break;
        }
        const bool isDigit = letter >= '0' && letter <= '9';
        if (letter == '0' || (isInClass && isDigit && letter < '8')) {
            size_t length = 1;
            while (length < 3 && at(1 + length) >= '0' && at(1 + length) <= '7') ++length;
            const auto value = numberOf(source_.substr(at_ + 1, length), 8);
            at_ += 1 + length;
            if (value && *value >= 0x80) refuse("writes a byte that is no character");
            return checked(value, 0);
        }
        const bool isSpecial = !isInClass && std::string_view("AzZGKXNORbBkgyY").find(letter) != std::string_view::npos;
        const bool isOther = std::string_view("CM").find(letter) != std::string_view::npos;
        if (isSpecial || isOther || isDigit) {
            if (isInClass) refuse(fmt::format("has \\{} in brackets, which is not supported", letter));
            return {};
        }
        ++at_; // any other character is itself
        return utf8::next(source_, at_);
    }

    /// \x{E9} or \x41, and the bytes of one character as \xC3\xA9.
    char32_t hexadecimal() {
        at_ += 2;
        if (takes("{")) return checked(numberOf(textBefore("}", "\\x{"), 16), 0);
        std::string bytes;
        const auto byte = [&] {
            size_t length = 0;
            while (length < 2 && std::isxdigit(static_cast<unsigned char>(at(length))) != 0) ++length;
            const auto value = numberOf(source_.substr(std::min(at_, source_.size()), length), 16);
            if (!value) refuse("has \\x without digits");
            at_ += length;
            bytes += static_cast<char>(*value);
        };
        byte();
        const auto first = static_cast<unsigned char>(bytes.front());
        for (int more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3; more > 0; --more) {
            if (!takes("\\x")) refuse("writes bytes that are no character");
            byte();
        }
        if (utf8::firstInvalid(bytes)) refuse("writes bytes that are no character");
        size_t begin = 0;
        return utf8::next(bytes, begin);
    }

    /// @param digits that the escape takes; 0: they were taken
    char32_t checked(std::optional<char32_t> character, size_t digits) {
        if (!character || *character > 0x10FFFF || (*character >= 0xD800 && *character < 0xE000) ||
            at_ + digits > source_.size())
            refuse("names a character that does not exist");
        at_ += digits;
        return *character;
    }

    // ------------------------------------------------------------ brackets

    /// The set in brackets, whose first one was read. Sets may lie in one another, and && intersects them.
    CharacterSet bracket() {
        if (++depth_ > 50) refuse("has too many brackets within one another");
        const bool isNegated = takes("^");
        CharacterSet set;
        std::optional<CharacterSet> before;
        std::optional<char32_t> first; // may begin a range
        const auto flush = [&] {
            if (first) set.add(*first, *first);
            first.reset();
        };
        const auto character = [&]() -> std::optional<char32_t> {
            if (at(0) == '\\') return codePoint(true);
            return utf8::next(source_, at_);
        };
        bool isBegin = true;
        for (;; isBegin = false) {
            if (at_ >= source_.size()) refuse("has brackets without an end");
            if (at(0) == ']' && !isBegin) break;
            if (at(0) == '[') {
                flush();
                set.add(inner());
            } else if (takes("&&")) {
                flush();
                before = before ? before->both(set) : set;
                set = {};
            } else if (const auto known = at(0) == '\\' ? shorthand() : std::nullopt) {
                flush();
                set.add(*known);
                if (at(0) == '-' && at(1) != ']') refuse("has a range in brackets that begins with a set");
            } else if (first && at(0) == '-' && at(1) != ']' && at(1) != '[' && source_.substr(at_ + 1, 2) != "&&") {
                ++at_;
                if (at(0) == '\\' && shorthand()) refuse("has a range in brackets that ends with a set");
                const char32_t last = character().value();
                if (last < *first) refuse("has an empty range in brackets");
                set.add(*first, last);
                first.reset();
            } else {
                flush();
                first = character();
            }
        }
        flush();
        ++at_;
        --depth_;
        if (before) set = before->both(set);
        // Where case is ignored, letters such as \u00DF bring pairs of letters into the set.
        if (groups_.back().ignoresCase && (set.hasOneCase() || (set.hasLetters() && !isNegated)))
            refuse("ignores case for letters of a property, which is not supported");
        return isNegated ? set.complement() : set;
    }

    /// [:alpha:] or brackets within brackets.
    CharacterSet inner() {
        const size_t end = source_.find(":]", at_);
        if (source_.substr(at_).starts_with("[:") && end != std::string_view::npos) {
            std::string_view name = source_.substr(at_ + 2, end - at_ - 2);
            const bool isComplement = name.starts_with('^');
            if (isComplement) name.remove_prefix(1);
            if (const auto set = CharacterSet::ofProperty(name, true)) {
                at_ = end + 2;
                return isComplement ? set->complement() : *set;
            }
            refuse(fmt::format("has the set [:{}:], which is not supported", printable(name)));
        }
        ++at_;
        return bracket();
    }

    std::string_view source_;
    size_t at_ = 0, atom_ = kNone; ///< the second: where the last part that may be repeated begins in the result
    bool isRepeated_ = false, hasNames_ = false;
    char32_t last_ = 0; ///< the last part if it is one character
    int numbered_ = 0, depth_ = 0;
    std::vector<Group> groups_;
    std::string out_;
};

} // namespace

std::string translateFromOniguruma(std::string_view expression) { return Translator(expression).run(); }

} // namespace attn
