#include "engine/text/normalization_form.h"

#include "engine/text/unicode_tables.h"
#include "engine/text/utf8.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace attn {
namespace {

constexpr char32_t kHangulBase = 0xAC00, kLeadBase = 0x1100, kVowelBase = 0x1161, kTailBase = 0x11A7;
constexpr char32_t kLeads = 19, kVowels = 21, kTails = 28, kSyllables = kLeads * kVowels * kTails;

struct Character {
    char32_t code = 0;
    ByteRange from;
    uint8_t combiningClass = 0;
};

uint8_t combiningClass(char32_t code) {
    const auto classes = unicode::combiningClasses();
    const auto found = std::ranges::lower_bound(classes, code, {}, &unicode::CombiningClass::last);
    return found != classes.end() && code >= found->first ? found->value : uint8_t{0};
}

void decompose(char32_t code, ByteRange from, std::vector<Character>& out) {
    if (code >= kHangulBase && code < kHangulBase + kSyllables) {
        const char32_t index = code - kHangulBase;
        out.push_back({kLeadBase + index / (kVowels * kTails), from, 0});
        out.push_back({kVowelBase + index / kTails % kVowels, from, 0});
        if (index % kTails != 0) out.push_back({kTailBase + index % kTails, from, 0});
        return;
    }
    const auto table = unicode::decompositions();
    const auto found = std::ranges::lower_bound(table, code, {}, &unicode::Decomposition::character);
    if (found == table.end() || found->character != code) {
        out.push_back({code, from, combiningClass(code)});
        return;
    }
    decompose(found->first, from, out);
    if (found->second != 0) decompose(found->second, from, out);
}

std::optional<char32_t> composed(char32_t first, char32_t second) {
    if (first >= kLeadBase && first < kLeadBase + kLeads && second >= kVowelBase && second < kVowelBase + kVowels)
        return kHangulBase + ((first - kLeadBase) * kVowels + (second - kVowelBase)) * kTails;
    if (first >= kHangulBase && first < kHangulBase + kSyllables && (first - kHangulBase) % kTails == 0 &&
        second > kTailBase && second < kTailBase + kTails)
        return first + (second - kTailBase);
    static const std::unordered_map<uint64_t, char32_t> pairs = [] {
        std::unordered_map<uint64_t, char32_t> map;
        for (const unicode::Decomposition& entry : unicode::decompositions())
            if (entry.composes) map.emplace(uint64_t{entry.first} << 32 | entry.second, entry.character);
        return map;
    }();
    const auto found = pairs.find(uint64_t{first} << 32 | second);
    return found == pairs.end() ? std::nullopt : std::optional(found->second);
}

void compose(std::vector<Character>& characters) {
    size_t kept = 0;
    std::optional<size_t> starter;
    for (size_t i = 0; i < characters.size(); ++i) {
        const Character present = characters[i];
        // Blocked when something of the same or a higher class (or another starter) stands between.
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
    std::vector<Character> characters;
    for (size_t at = 0; at < text.text().size();) {
        const size_t begin = at;
        const char32_t code = utf8::next(text.text(), at);
        decompose(code, text.origin(begin, at), characters);
    }
    for (auto at = characters.begin(); at != characters.end();) {
        const auto marks = std::find_if(at, characters.end(), [](const Character& c) { return c.combiningClass != 0; });
        at = std::find_if(marks, characters.end(), [](const Character& c) { return c.combiningClass == 0; });
        std::stable_sort(marks, at,
                         [](const Character& a, const Character& b) { return a.combiningClass < b.combiningClass; });
    }
    if (form == NormalizationForm::Nfc) compose(characters);
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
