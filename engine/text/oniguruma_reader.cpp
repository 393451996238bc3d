#include "engine/text/oniguruma_reader.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace attn {

std::optional<char32_t> OnigurumaReader::numberOf(std::string_view digits, int base) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return {};
    return static_cast<char32_t>(value);
}

void OnigurumaReader::refuse(std::string_view what) const {
    throw Error({.what = fmt::format("the regular expression {} {}", printable(source_), what),
                 .hint = "use a tokenizer.json without this part of the expression, or enter token ids"});
}

bool OnigurumaReader::takes(std::string_view text) {
    if (!source_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
}

std::string_view OnigurumaReader::textBefore(std::string_view mark, std::string_view what) {
    const size_t end = source_.find(mark, at_);
    if (end == std::string_view::npos) refuse(fmt::format("has {} without an end", what));
    const std::string_view text = source_.substr(at_, end - at_);
    at_ = end + mark.size();
    return text;
}

std::optional<CharacterSet> OnigurumaReader::shorthand() {
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

std::optional<char32_t> OnigurumaReader::codePoint(bool isInClass) {
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

char32_t OnigurumaReader::hexadecimal() {
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

char32_t OnigurumaReader::checked(std::optional<char32_t> character, size_t digits) {
    if (!character || *character > 0x10FFFF || (*character >= 0xD800 && *character < 0xE000) ||
        at_ + digits > source_.size())
        refuse("names a character that does not exist");
    at_ += digits;
    return *character;
}

CharacterSet OnigurumaReader::bracket(bool ignoresCase) {
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
            set.add(inner(ignoresCase));
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
    if (ignoresCase && (set.hasOneCase() || (set.hasLetters() && !isNegated)))
        refuse("ignores case for letters of a property, which is not supported");
    return isNegated ? set.complement() : set;
}

CharacterSet OnigurumaReader::inner(bool ignoresCase) {
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
    return bracket(ignoresCase);
}

} // namespace attn
