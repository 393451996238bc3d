#include "engine/training/tasks/text_parts.h"

#include "engine/core/error.h"
#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

constexpr size_t kMostPartBytes = size_t{1} << 20;

bool isInsideCharacter(std::string_view text, size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

/// Whether white space begins at a place behind something else.
bool endsWord(std::string_view text, size_t at) {
    size_t before = utf8::previous(text, at), next = at;
    return !utf8::isWhitespace(utf8::next(text, before)) && utf8::isWhitespace(utf8::next(text, next));
}

} // namespace

void requireText(std::string_view text, const std::filesystem::path& path) {
    if (text.empty())
        throw Error({.what = "the file is empty", .where = path.string(), .hint = "choose a file with some text"});
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
