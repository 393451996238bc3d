#include "engine/text/character_changes.h"

#include <unicode/uchar.h>

#include <array>

namespace attn {
namespace {

/// Every step-th character from first to last has its lowercase at this distance.
struct LowercaseRun {
    char32_t first, last, step;
    int32_t distance;
};

char32_t lowercase(char32_t code) {
    // The oldest supported ICU has Unicode 15.
    static constexpr std::array<LowercaseRun, 6> kNewer{{{0x1C89, 0x1C89, 1, 1},
                                                         {0xA7CB, 0xA7CB, 1, -42343},
                                                         {0xA7CC, 0xA7DA, 2, 1},
                                                         {0xA7DC, 0xA7DC, 1, -42561},
                                                         {0x10D50, 0x10D65, 1, 32},
                                                         {0x16EA0, 0x16EB8, 1, 27}}};
    const auto run = std::ranges::lower_bound(kNewer, code, {}, &LowercaseRun::last);
    if (run != kNewer.end() && code >= run->first && (code - run->first) % run->step == 0)
        return code + static_cast<char32_t>(run->distance);
    return utf8::unicodeVersion(code) <= 15 ? static_cast<char32_t>(u_tolower(static_cast<UChar32>(code))) : code;
}

} // namespace

int8_t characterClass(char32_t code, int newestUnicode) {
    return utf8::unicodeVersion(code) <= newestUnicode ? u_charType(static_cast<UChar32>(code)) : int8_t{U_UNASSIGNED};
}

AlignedText lowercased(const AlignedText& text, TextBudget& budget) {
    return withCharacters(text, budget, [](char32_t code, std::string& to) {
        if (code == U'\u0130') {
            to = "i\u0307";
            return true;
        }
        const char32_t lower = lowercase(code);
        if (lower == code) return false;
        utf8::append(to, lower);
        return true;
    });
}

AlignedText withoutMarks(const AlignedText& text, TextBudget& budget) {
    return withCharacters(text, budget, [](char32_t code, std::string&) {
        const int8_t type = characterClass(code, 9);
        return type == U_NON_SPACING_MARK || type == U_COMBINING_SPACING_MARK || type == U_ENCLOSING_MARK;
    });
}

AlignedText withPlainSpaces(const AlignedText& text, TextBudget& budget) {
    return withCharacters(text, budget, [](char32_t code, std::string& to) {
        const bool isRemoved = (code >= 0x01 && code <= 0x08) || code == 0x0B || (code >= 0x0E && code <= 0x1F) ||
                               code == 0x7F || code == 0x8F || code == 0x9F;
        if (isRemoved) return true;
        const bool isSpace = code == 0x09 || code == 0x0A || code == 0x0C || code == 0x0D || code == 0x1680 ||
                             (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 || code == 0x2581 ||
                             code == 0xFEFF || code == 0xFFFD;
        if (isSpace) to = " ";
        return isSpace;
    });
}

} // namespace attn
