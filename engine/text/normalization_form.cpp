#include "engine/text/normalization_form.h"

#include "engine/text/utf8.h"

#include <unicode/unorm2.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>

namespace attn {
namespace {

struct Character {
    char32_t code = 0;
    ByteRange from;
    uint8_t combiningClass = 0;
};

/// Characters that are newer than the library's tables neither decompose nor combine.
bool isKnown(char32_t code) { return utf8::unicodeVersion(code) <= 9; }

const UNormalizer2& nfc() {
    UErrorCode error = U_ZERO_ERROR;
    const UNormalizer2* data = unorm2_getNFCInstance(&error);
    assert(U_SUCCESS(error)); // the data is part of ICU
    return *data;
}

const UNormalizer2& nfkc() {
    UErrorCode error = U_ZERO_ERROR;
    const UNormalizer2* data = unorm2_getNFKCInstance(&error);
    assert(U_SUCCESS(error));
    return *data;
}

/// @param rules nfc() or nfkc()
void decompose(const UNormalizer2& rules, char32_t code, ByteRange from, std::vector<Character>& out) {
    std::array<UChar, 32> parts{}; // the longest decomposition has 18 characters
    UErrorCode error = U_ZERO_ERROR;
    const auto put = [&](UChar32 part) {
        const auto known = static_cast<char32_t>(part);
        out.push_back({known, from, isKnown(known) ? unorm2_getCombiningClass(&nfc(), part) : uint8_t{0}});
    };
    const int32_t length = isKnown(code) ? unorm2_getDecomposition(&rules, static_cast<UChar32>(code), parts.data(),
                                                                   static_cast<int32_t>(parts.size()), &error)
                                         : -1;
    if (length < 0) put(static_cast<UChar32>(code));
    for (int32_t at = 0; at < length;) {
        UChar32 part = 0;
        U16_NEXT(parts.data(), at, length, part);
        put(part);
    }
}

std::optional<char32_t> composed(char32_t first, char32_t second) {
    if (!isKnown(first) || !isKnown(second)) return std::nullopt;
    const UChar32 whole = unorm2_composePair(&nfc(), static_cast<UChar32>(first), static_cast<UChar32>(second));
    return whole < 0 ? std::nullopt : std::optional(static_cast<char32_t>(whole));
}

void compose(std::vector<Character>& characters) {
    size_t kept = 0;
    std::optional<size_t> starter;
    for (size_t i = 0; i < characters.size(); ++i) {
        const Character present = characters[i];
        // A character is blocked if one of the same or a higher class, or another starter, stands between.
        const bool isAdjacent = starter && kept == *starter + 1;
        const bool isReachable =
            starter && (isAdjacent || (characters[kept - 1].combiningClass < present.combiningClass &&
                                       characters[kept - 1].combiningClass != 0));
        if (isReachable) {
            if (const auto whole = composed(characters[*starter].code, present.code)) {
                Character& target = characters[*starter];
                target.code = *whole;
                target.from = {std::min(target.from.begin, present.from.begin),
                               std::max(target.from.end, present.from.end)};
                continue;
            }
        }
        if (present.combiningClass == 0) starter = kept;
        characters[kept++] = present;
    }
    characters.resize(kept);
}

} // namespace

AlignedText normalize(const AlignedText& text, NormalizationForm form) {
    if (std::ranges::all_of(text.text(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return text;
    const bool isCompatible = form == NormalizationForm::Nfkc || form == NormalizationForm::Nfkd;
    const bool composes = form == NormalizationForm::Nfc || form == NormalizationForm::Nfkc;
    const UNormalizer2& rules = isCompatible ? nfkc() : nfc();
    std::vector<Character> characters;
    for (size_t at = 0; at < text.text().size();) {
        const size_t begin = at;
        const char32_t code = utf8::next(text.text(), at);
        decompose(rules, code, text.origin(begin, at), characters);
    }
    for (auto at = characters.begin(); at != characters.end();) {
        const auto marks = std::find_if(at, characters.end(), [](const Character& c) { return c.combiningClass != 0; });
        at = std::find_if(marks, characters.end(), [](const Character& c) { return c.combiningClass == 0; });
        std::stable_sort(marks, at,
                         [](const Character& a, const Character& b) { return a.combiningClass < b.combiningClass; });
    }
    if (composes) compose(characters);
    AlignedText result;
    for (const Character& character : characters) {
        const std::string bytes = utf8::encode(character.code);
        // An unchanged character keeps its byte-exact origin.
        const bool isWhole = character.from.end - character.from.begin == bytes.size();
        for (size_t i = 0; i < bytes.size(); ++i)
            result.append(std::string_view(bytes).substr(i, 1),
                          isWhole ? ByteRange{character.from.begin + i, character.from.begin + i + 1} : character.from);
    }
    return result;
}

} // namespace attn
