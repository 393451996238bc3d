#include "engine/text/bert_normalizer.h"

#include "engine/text/normalization_form.h"
#include "engine/text/text_budget.h"
#include "engine/text/utf8.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <utility>

namespace attn {
namespace {

// What BERT's normalizer in Hugging Face's library knows of characters: removed ones by the classes of Unicode 8, and
// lowercase by Unicode 17.

int8_t classInUnicode8(char32_t code) {
    return utf8::unicodeVersion(code) <= 8 ? u_charType(static_cast<UChar32>(code)) : int8_t{U_UNASSIGNED};
}

/// Control, format and private characters.
bool isControl(char32_t code) {
    const int8_t type = classInUnicode8(code);
    return type == U_CONTROL_CHAR || type == U_FORMAT_CHAR || type == U_PRIVATE_USE_CHAR || code == U'\uFFFD';
}

/// Marks that take no space. Later versions of Unicode moved six characters into this class or out of it.
bool isMark(char32_t code) {
    if (code == U'\u1734' || code == U'\U0001171E') return true;
    if (code == U'\u1885' || code == U'\u1886' || code == U'\uA9BD' || code == U'\U000111C9') return false;
    return classInUnicode8(code) == U_NON_SPACING_MARK;
}

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

/// The blocks of Chinese characters. Hugging Face's library leaves out U+2B820 to U+2B91F, which BERT's release has.
bool isIdeograph(char32_t code) {
    static constexpr std::array<std::pair<char32_t, char32_t>, 8> kBlocks{{{0x3400, 0x4DBF},
                                                                           {0x4E00, 0x9FFF},
                                                                           {0xF900, 0xFAFF},
                                                                           {0x20000, 0x2A6DF},
                                                                           {0x2A700, 0x2B73F},
                                                                           {0x2B740, 0x2B81F},
                                                                           {0x2B920, 0x2CEAF},
                                                                           {0x2F800, 0x2FA1F}}};
    return std::ranges::any_of(kBlocks, [&](const auto& block) { return code >= block.first && code <= block.second; });
}

/// Writes other text for some characters. @param change receives a character and appends to a string; false: it stays
template <class Change> AlignedText changed(const AlignedText& text, TextBudget& budget, const Change& change) {
    AlignedText result;
    std::string replacement;
    const std::string& bytes = text.text();
    size_t kept = 0; // the bytes from here on are unchanged and not yet copied
    for (size_t at = 0; at < bytes.size();) {
        const size_t begin = at;
        const char32_t code = utf8::next(bytes, at);
        replacement.clear();
        if (!change(code, replacement)) continue;
        budget.grow(replacement.size() - std::min(replacement.size(), at - begin));
        result.append(text, kept, begin);
        result.append(replacement, text.origin(begin, at));
        kept = at;
    }
    if (kept == 0) return text;
    result.append(text, kept, bytes.size());
    return result;
}

} // namespace

AlignedText BertNormalizer::apply(AlignedText text, TextBudget& budget) const {
    if (cleans)
        text = changed(text, budget, [](char32_t code, std::string& to) {
            const bool isLineBreak = code == U'\t' || code == U'\n' || code == U'\r';
            if (!isLineBreak && isControl(code)) return true;
            if (code == U' ' || !utf8::isWhitespace(code)) return false;
            to = " ";
            return true;
        });
    if (separatesIdeographs)
        text = changed(text, budget, [](char32_t code, std::string& to) {
            if (!isIdeograph(code)) return false;
            to = " " + utf8::encode(code) + " ";
            return true;
        });
    if (stripsAccents) {
        const size_t before = text.text().size();
        text = normalize(text, NormalizationForm::Nfd);
        budget.grow(text.text().size() - std::min(before, text.text().size()));
        text = changed(text, budget, [](char32_t code, std::string&) { return isMark(code); });
    }
    if (lowercases)
        text = changed(text, budget, [](char32_t code, std::string& to) {
            if (code == U'\u0130') {
                to = "i\u0307";
                return true;
            }
            const char32_t lower = lowercase(code);
            if (lower == code) return false;
            utf8::append(to, lower);
            return true;
        });
    return text;
}

} // namespace attn
