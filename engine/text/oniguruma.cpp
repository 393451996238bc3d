#include "engine/core/quoting.h"
#include "engine/text/oniguruma_reader.h"
#include "engine/text/pattern.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace attn {
namespace {

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
class Translator : OnigurumaReader {
public:
    explicit Translator(std::string_view source) : OnigurumaReader(source) {}

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
            put(bracket(groups_.back().ignoresCase).expression());
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

    size_t atom_ = kNone; ///< where the last part that may be repeated begins in the result
    bool isRepeated_ = false, hasNames_ = false;
    char32_t last_ = 0; ///< the last part if it is one character
    int numbered_ = 0;
    std::vector<Group> groups_;
    std::string out_;
};

} // namespace

std::string translateFromOniguruma(std::string_view expression) { return Translator(expression).run(); }

} // namespace attn
