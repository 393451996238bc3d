#include "engine/text/charsmap.h"

#include "engine/core/error.h"
#include "engine/text/text_budget.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>
#include <unicode/ubrk.h>

#include <algorithm>
#include <memory>

namespace attn {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw Error({.what = what, .hint = "copy the model's tokenizer again, it is damaged"});
}

// A unit of the double array holds the byte that leads to it, the place of its children, and whether a sequence ends at
// it. If its highest bit is set, it holds the place of a text instead.
constexpr uint32_t kIsValue = uint32_t{1} << 31;
bool endsSequence(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t offsetOf(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
bool isReachedBy(uint32_t unit, unsigned char byte) { return (unit & (kIsValue | 0xFF)) == byte; }

uint32_t unitAt(std::string_view bytes, size_t at) {
    uint32_t value = 0;
    for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

/// Where each cluster of a letter and its marks ends.
std::vector<size_t> clusterEnds(const std::string& text) {
    UErrorCode error = U_ZERO_ERROR;
    const std::unique_ptr<UText, decltype(&utext_close)> opened(
        utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &error), utext_close);
    const std::unique_ptr<UBreakIterator, decltype(&ubrk_close)> clusters(
        ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &error), ubrk_close);
    ubrk_setUText(clusters.get(), opened.get(), &error);
    if (U_FAILURE(error))
        throw Error({.what = fmt::format("the letters of the text cannot be told apart: {}", u_errorName(error)),
                     .where = "ICU",
                     .hint = "install the ICU library again"});
    std::vector<size_t> ends;
    for (int32_t end = ubrk_next(clusters.get()); end != UBRK_DONE; end = ubrk_next(clusters.get()))
        ends.push_back(static_cast<size_t>(end));
    return ends;
}

} // namespace

Charsmap::Charsmap(std::string_view compiled) {
    constexpr size_t kBlock = 256; // children lie within a block of this many units, so every place is in the array
    if (compiled.empty()) return;
    const size_t bytes = compiled.size() < 4 ? 0 : unitAt(compiled, 0);
    if (bytes == 0 || bytes % (4 * kBlock) != 0 || bytes >= compiled.size() - 4)
        refuse(fmt::format("is a table of {} bytes with a tree of {}, which does not fit", compiled.size(), bytes));
    texts_ = compiled.substr(4 + bytes);
    if (texts_.back() != '\0' || utf8::firstInvalid(texts_)) refuse("has replacements that are not text");
    for (size_t at = 0; at < bytes; at += 4) units_.push_back(unitAt(compiled, 4 + at));
    for (size_t i = 0; i < units_.size(); ++i) {
        if ((units_[i] & kIsValue) != 0) continue;
        const size_t children = i ^ offsetOf(units_[i]);
        if (children >= units_.size()) refuse(fmt::format("has a tree whose unit {} points outside of it", i));
        if (!endsSequence(units_[i])) continue;
        const size_t place = units_[children] & ~kIsValue;
        const bool isText = place < texts_.size() && (static_cast<unsigned char>(texts_[place]) & 0xC0) != 0x80;
        if (!isText) refuse(fmt::format("has a tree whose unit {} names no replacement", i));
    }
}

Charsmap Charsmap::fromBase64(std::string_view letters) {
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    uint32_t bits = 0;
    int count = 0;
    while (letters.ends_with('=')) letters.remove_suffix(1);
    for (const char letter : letters) {
        const size_t value = kAlphabet.find(letter);
        if (value == std::string_view::npos) refuse("is not written in base64");
        bits = bits << 6 | static_cast<uint32_t>(value);
        if ((count += 6) < 8) continue;
        count -= 8;
        bytes.push_back(static_cast<char>(static_cast<unsigned char>(bits >> count & 0xFF)));
    }
    return Charsmap(bytes);
}

std::string_view Charsmap::textAt(size_t place) const { return texts_.c_str() + place; }

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool isLongest) const {
    constexpr size_t kLongest = 256; // bytes of a sequence; known sequences have at most 18
    std::optional<Match> best;
    if (units_.empty()) return best;
    size_t at = offsetOf(units_[0]);
    for (size_t i = 0; i < std::min(text.size(), kLongest); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        at ^= byte;
        if (byte == 0 || at >= units_.size() || !isReachedBy(units_[at], byte)) break;
        const uint32_t unit = units_[at];
        at ^= offsetOf(unit);
        if (!endsSequence(unit)) continue;
        best = {textAt(units_[at] & ~kIsValue), i + 1};
        if (!isLongest) break;
    }
    return best;
}

AlignedText Charsmap::applyToClusters(const AlignedText& text, TextBudget& budget) const {
    constexpr size_t kLongestCluster = 5;
    const std::string& bytes = text.text();
    AlignedText result;
    size_t kept = 0; // the bytes from here on are unchanged and not yet copied
    const auto change = [&](size_t begin, size_t end) {
        const auto match = find(std::string_view(bytes).substr(begin, end - begin), false);
        if (!match) return false;
        budget.grow(match->text.size() - std::min(match->text.size(), end - begin));
        result.append(text, kept, begin);
        result.append(match->text, text.origin(begin, end));
        kept = end;
        return true;
    };
    size_t begin = 0;
    for (const size_t end : clusterEnds(bytes)) {
        const bool isChanged = end - begin <= kLongestCluster && change(begin, end);
        for (size_t at = begin; !isChanged && at < end;) {
            const size_t first = at;
            utf8::next(bytes, at);
            change(first, at);
        }
        begin = end;
    }
    if (kept == 0) return text;
    result.append(text, kept, bytes.size());
    // Text that is removed at the beginning is added to the origin of the first character.
    result.widenStart(text.origin(0, 1).begin);
    return result;
}

} // namespace attn
