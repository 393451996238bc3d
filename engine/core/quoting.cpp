#include "engine/core/quoting.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

/// The beginning of a text. A character is not cut in the middle.
std::string_view beginning(std::string_view text, size_t most) {
    if (text.size() <= most) return text;
    constexpr size_t kLongestCharacter = 4;
    const auto continues = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
    size_t end = most;
    while (end > 0 && most - end < kLongestCharacter && continues(end)) --end;
    return text.substr(0, continues(end) ? most : end);
}

} // namespace

std::string printable(std::string_view text, size_t most) {
    const std::string_view kept = beginning(text, most);
    const std::string_view dots = kept.size() < text.size() ? "..." : "";
    if (std::ranges::all_of(kept, [](char c) { return c >= ' ' && c <= '~'; })) return fmt::format("{}{}", kept, dots);
    const std::string escaped = fmt::format("{:?}", kept); // in quotes; it also escapes quotes and backslashes
    std::string result;
    for (size_t at = 1; at + 1 < escaped.size(); ++at) {
        const bool isPlain = escaped[at] == '\\' && (escaped[at + 1] == '\\' || escaped[at + 1] == '"');
        result += escaped[isPlain ? ++at : at];
    }
    result += dots;
    return result;
}

std::string printableLines(std::string_view text) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find_first_of("\n\t", at), text.size());
        result += printable(text.substr(at, end - at), text.size());
        if (end < text.size()) result += text[end];
        at = end + 1;
    }
    return result;
}

std::string inQuotes(std::string_view text, size_t most) { return fmt::format("\"{}\"", printable(text, most)); }

std::string shortened(std::string_view text) {
    constexpr size_t kEnd = 60; // of a path, this names the file
    if (text.size() <= kMostShownBytes) return std::string(text);
    const auto continues = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
    size_t end = text.size() - kEnd;
    while (end < text.size() && continues(end)) ++end;
    return fmt::format("{}...{}", beginning(text, kMostShownBytes - kEnd), text.substr(end));
}

std::string withShortQuotes(std::string_view message) {
    if (message.size() <= kMostShownBytes) return std::string(message);
    std::string result;
    const auto addWords = [&](std::string_view text) {
        for (size_t at = 0; at < text.size();) {
            const size_t end = std::min(text.find_first_of(" \n", at), text.size());
            result += shortened(text.substr(at, end - at));
            if (end < text.size()) result += text[end];
            at = end + 1;
        }
    };
    for (size_t at = 0; at < message.size();) {
        const size_t begin = message.find('"', at),
                     end = begin == message.npos ? message.npos : message.find('"', begin + 1);
        if (end == message.npos) {
            addWords(message.substr(at));
            break;
        }
        addWords(message.substr(at, begin - at));
        result += '"' + shortened(message.substr(begin + 1, end - begin - 1)) + '"';
        at = end + 1;
    }
    return result;
}

std::string groupDigits(size_t number) {
    std::string digits = std::to_string(number);
    for (size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, 1, ',');
    return digits;
}

} // namespace attn
