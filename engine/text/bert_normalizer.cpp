#include "engine/text/bert_normalizer.h"

#include "engine/text/normalization_form.h"
#include "engine/text/text_budget.h"
#include "engine/text/unicode_tables.h"
#include "engine/text/utf8.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attn {
namespace {

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
            if (!isLineBreak && unicode::isBertControl(code)) return true;
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
        text = changed(text, budget, [](char32_t code, std::string&) { return unicode::isBertMark(code); });
    }
    if (lowercases)
        text = changed(text, budget, [](char32_t code, std::string& to) {
            if (code == U'\u0130') {
                to = "i\u0307";
                return true;
            }
            const char32_t lower = unicode::lowercase(code);
            if (lower == code) return false;
            utf8::append(to, lower);
            return true;
        });
    return text;
}

} // namespace attn
