#include "engine/text/bert_normalizer.h"

#include "engine/text/character_changes.h"
#include "engine/text/normalization_form.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <utility>

namespace attn {
namespace {

/// The class of a character in Unicode 8, whose tables BERT's normalizer in Hugging Face's library uses.
int8_t classInUnicode8(char32_t code) { return characterClass(code, 8); }

/// Control, format and private characters.
bool isControl(char32_t code) {
    const int8_t type = classInUnicode8(code);
    return type == U_CONTROL_CHAR || type == U_FORMAT_CHAR || type == U_PRIVATE_USE_CHAR || code == U'\uFFFD';
}

/// Marks that take no space. Later versions of Unicode moved six characters into or out of this class.
bool isMark(char32_t code) {
    if (code == U'\u1734' || code == U'\U0001171E') return true;
    if (code == U'\u1885' || code == U'\u1886' || code == U'\uA9BD' || code == U'\U000111C9') return false;
    return classInUnicode8(code) == U_NON_SPACING_MARK;
}

/// The blocks of Chinese characters. Hugging Face's library lacks U+2B820 to U+2B91F, which BERT's release includes.
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

} // namespace

AlignedText BertNormalizer::apply(AlignedText text, TextBudget& budget) const {
    if (cleans)
        text = withCharacters(text, budget, [](char32_t code, std::string& to) {
            const bool isLineBreak = code == U'\t' || code == U'\n' || code == U'\r';
            if (!isLineBreak && isControl(code)) return true;
            if (code == U' ' || !utf8::isWhitespace(code)) return false;
            to = " ";
            return true;
        });
    if (separatesIdeographs)
        text = withCharacters(text, budget, [](char32_t code, std::string& to) {
            if (!isIdeograph(code)) return false;
            to = " " + utf8::encode(code) + " ";
            return true;
        });
    if (stripsAccents) {
        const size_t before = text.text().size();
        text = normalize(text, NormalizationForm::Nfd);
        budget.grow(text.text().size() - std::min(before, text.text().size()));
        text = withCharacters(text, budget, [](char32_t code, std::string&) { return isMark(code); });
    }
    if (lowercases) text = lowercased(text, budget);
    return text;
}

} // namespace attn
