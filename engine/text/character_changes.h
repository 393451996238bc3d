#pragma once

#include "engine/text/aligned_text.h"
#include "engine/text/text_budget.h"
#include "engine/text/utf8.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace attn {

// Changes of single characters as in Hugging Face's library, which classifies some characters by older versions of
// Unicode.

/// Writes other text for some characters. @param change receives a character and appends to a string; false: it stays
/// @throws Error if the text becomes too long
template <class Change> AlignedText withCharacters(const AlignedText& text, TextBudget& budget, const Change& change) {
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

/// The class of a character, as U_UNASSIGNED if it is newer than a version of Unicode.
int8_t characterClass(char32_t code, int newestUnicode);

/// The lowercase by Unicode 17, without regard to the place in a word.
AlignedText lowercased(const AlignedText& text, TextBudget& budget);
/// Without marks of all kinds: the normalizer "StripAccents".
AlignedText withoutMarks(const AlignedText& text, TextBudget& budget);
/// Without control characters, and with one blank for each unusual space: the normalizer "Nmt".
AlignedText withPlainSpaces(const AlignedText& text, TextBudget& budget);

} // namespace attn
