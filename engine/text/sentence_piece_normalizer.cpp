#include "engine/text/sentence_piece_normalizer.h"

#include "engine/text/text_budget.h"
#include "engine/text/utf8.h"

#include <algorithm>

namespace attn {

AlignedText SentencePieceNormalizer::apply(const AlignedText& text, TextBudget& budget) const {
    const std::string& bytes = text.text();
    const std::string_view space = marksSpaces ? "\u2581" : " ";
    const bool prefixesThis = addsPrefix && !(prefixesOnlyFirst && text.origin(0, 1).begin > 0);
    AlignedText result;
    bool dropsSpaces = removesSpaces; // true at the beginning and after a space
    bool isBegun = false;
    for (size_t at = 0; at < bytes.size();) {
        const size_t begin = at;
        std::string_view part;
        if (const auto whole = kept.longest(bytes, at)) {
            at = whole->end;
            part = std::string_view(bytes).substr(begin, at - begin);
        } else if (const auto match = charsmap.longest(std::string_view(bytes).substr(at))) {
            at += match->length;
            part = match->text;
        } else {
            utf8::next(bytes, at);
            part = std::string_view(bytes).substr(begin, at - begin);
        }
        const ByteRange from = text.origin(begin, at);
        // A single space at the very beginning is skipped. Longer text begins the result.
        if (!isBegun && removesSpaces && part == " ") continue;
        if (!isBegun && prefixesThis) result.append(space, {from.begin, from.begin});
        isBegun = true;
        while (dropsSpaces && part.starts_with(' ')) part.remove_prefix(1);
        if (part.empty()) continue;
        dropsSpaces = removesSpaces && part.ends_with(' ');
        const size_t size = part.size() + static_cast<size_t>(std::ranges::count(part, ' ')) * (space.size() - 1);
        budget.grow(size - std::min(size, at - begin));
        const bool isCopy = part.data() == bytes.data() + begin;
        for (size_t i = 0; i < part.size(); ++i)
            result.append(part[i] == ' ' ? space : part.substr(i, 1),
                          isCopy ? text.origin(begin + i, begin + i + 1) : from);
    }
    size_t end = result.text().size();
    while (removesSpaces && std::string_view(result.text()).substr(0, end).ends_with(space)) end -= space.size();
    return result.slice(0, end);
}

} // namespace attn
