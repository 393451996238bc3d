#include "engine/text/utf8.h"

#include <unicode/uchar.h>

namespace attn::utf8 {
namespace {

unsigned char byteAt(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

} // namespace

Step stepAt(std::string_view text, size_t at) {
    using Kind = Step::Kind;
    const unsigned char lead = byteAt(text, at);
    if (lead < 0x80) return {Kind::Character, 1};
    if (lead < 0xC2 || lead > 0xF4) return {Kind::Invalid, 1};
    const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    for (size_t i = 1; i < length; ++i) {
        if (at + i == text.size()) return {Kind::CutOff, i};
        // The second byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF.
        unsigned char low = 0x80, high = 0xBF;
        if (i == 1) {
            if (lead == 0xE0) low = 0xA0;
            if (lead == 0xED) high = 0x9F;
            if (lead == 0xF0) low = 0x90;
            if (lead == 0xF4) high = 0x8F;
        }
        const unsigned char byte = byteAt(text, at + i);
        if (byte < low || byte > high) return {Kind::Invalid, i};
    }
    return {Kind::Character, length};
}

std::optional<size_t> firstInvalid(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const Step step = stepAt(text, at);
        if (step.kind != Step::Kind::Character) return at;
        at += step.length;
    }
    return std::nullopt;
}

char32_t next(std::string_view text, size_t& at) {
    const unsigned char lead = byteAt(text, at++);
    if (lead < 0x80) return lead;
    const int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    char32_t character = lead & (0x3Fu >> more);
    for (int i = 0; i < more; ++i) character = character << 6 | (byteAt(text, at++) & 0x3Fu);
    return character;
}

size_t previous(std::string_view text, size_t end) {
    do --end;
    while (end > 0 && (byteAt(text, end) & 0xC0u) == 0x80u);
    return end;
}

void append(std::string& text, char32_t character) {
    const auto push = [&](char32_t byte) { text.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
    if (character < 0x80) {
        push(character);
        return;
    }
    if (character < 0x800) {
        push(0xC0 | character >> 6);
    } else if (character < 0x10000) {
        push(0xE0 | character >> 12);
        push(0x80 | (character >> 6 & 0x3F));
    } else {
        push(0xF0 | character >> 18);
        push(0x80 | (character >> 12 & 0x3F));
        push(0x80 | (character >> 6 & 0x3F));
    }
    push(0x80 | (character & 0x3F));
}

std::string encode(char32_t character) {
    std::string text;
    append(text, character);
    return text;
}

bool isWhitespace(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

int unicodeVersion(char32_t character) {
    UVersionInfo version = {};
    u_charAge(static_cast<UChar32>(character), version);
    return version[0];
}

} // namespace attn::utf8
