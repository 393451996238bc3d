#include "engine/data/text_parts.h"

#include "engine/core/error.h"
#include "engine/io/input_file.h"
#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr size_t kMostPartBytes = size_t{1} << 20;

bool isInsideCharacter(std::string_view text, size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

/// Whether white space begins at this place, after another character.
bool endsWord(std::string_view text, size_t at) {
    size_t before = utf8::previous(text, at), next = at;
    return !utf8::isWhitespace(utf8::next(text, before)) && utf8::isWhitespace(utf8::next(text, next));
}

} // namespace

std::string readPersonsFile(const std::filesystem::path& path) {
    constexpr uint64_t kMostBytes = uint64_t{64} << 20;
    std::string bytes = readTextFile(path, kMostBytes);
    if (bytes.empty())
        throw Error({.what = "the file is empty", .where = path.string(), .hint = "choose a file with some text"});
    return bytes;
}

std::string withPlainLines(std::string text) {
    text = withoutByteOrderMark(std::move(text));
    size_t size = 0;
    for (size_t at = 0; at < text.size(); ++at) {
        const bool isReturn = text[at] == '\r';
        if (isReturn && at + 1 < text.size() && text[at + 1] == '\n') continue;
        text[size++] = isReturn ? '\n' : text[at];
    }
    text.resize(size);
    return text;
}

std::string lowerCase(std::string_view text) {
    std::string lower(text);
    for (char& letter : lower)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return lower;
}

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t\r\n");
    return begin == std::string_view::npos ? std::string_view()
                                           : text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

size_t lineOfNames(std::string_view text) {
    const size_t word = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    const auto number = static_cast<size_t>(1 + std::ranges::count(text.substr(0, word), '\n'));
    const size_t first = text.substr(0, word).rfind('\n') + 1; // npos + 1 is 0
    std::string_view line = text.substr(first, text.find('\n', word) - first);
    if (line.ends_with('\r')) line.remove_suffix(1);
    constexpr std::array<std::string_view, 22> kNames{
        "answer", "answers", "category", "class",    "context",     "document",  "input",  "label",
        "labels", "output",  "passage",  "question", "sentence",    "sentiment", "source", "tag",
        "target", "task",    "text",     "text_a",   "translation", "word"};
    size_t fields = 0;
    for (size_t begin = 0; begin <= line.size(); ++fields) {
        const size_t end = std::min(line.find('\t', begin), line.size());
        if (std::ranges::find(kNames, lowerCase(line.substr(begin, end - begin))) == kNames.end()) return 0;
        begin = end + 1;
    }
    return fields > 1 ? number : 0;
}

void requireUtf8(std::string_view text, const std::filesystem::path& path) {
    if (const auto at = utf8::firstInvalid(text))
        throw Error({.what = fmt::format("line {} is not UTF-8", 1 + std::ranges::count(text.substr(0, *at), '\n')),
                     .where = path.string(),
                     .hint = "save the text as UTF-8"});
}

std::string_view firstBytes(std::string_view text, size_t most) {
    size_t end = std::min(text.size(), most);
    while (end > 0 && isInsideCharacter(text, end)) --end;
    return text.substr(0, end);
}

std::string_view beginningOf(std::string_view text, size_t tokens) {
    return firstBytes(text, tokens * kMostBytesPerToken);
}

std::string_view beginningOf(std::string_view text, const Tokenizer& tokenizer, size_t tokens) {
    constexpr size_t kFewBytesPerToken = 16;
    const std::string_view beginning = beginningOf(text, tokens);
    if (beginning.size() <= tokens * kFewBytesPerToken) return beginning;
    const Encoding encoding = tokenizer.encode(beginning, false);
    return encoding.ids.size() <= tokens ? beginning : beginning.substr(0, encoding.ranges[tokens - 1].end);
}

void forEachPart(std::string_view text, const std::function<void(std::string_view part)>& take) {
    while (text.size() > kMostPartBytes) {
        const size_t most = firstBytes(text, kMostPartBytes).size();
        size_t end = most;
        while (end > kMostPartBytes / 2 && (isInsideCharacter(text, end) || !endsWord(text, end))) --end;
        if (end <= kMostPartBytes / 2) end = most;
        take(text.substr(0, end));
        text.remove_prefix(end);
    }
    if (!text.empty()) take(text);
}

} // namespace attn
