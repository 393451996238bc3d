#include "engine/text/word_piece.h"

#include "engine/text/json_node.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

/// Known models have 100. A word of n characters is searched n^2 times.
constexpr size_t kMostCharacters = 256;

size_t charactersOf(std::string_view word) {
    return static_cast<size_t>(
        std::ranges::count_if(word, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

} // namespace

WordPiece WordPiece::parse(const JsonNode& node) {
    Options options{.unknownToken = node.text("unk_token", "[UNK]"),
                    .continuingPrefix = node.text("continuing_subword_prefix", "##"),
                    .mostCharacters = node.size("max_input_chars_per_word", 100)};
    if (options.mostCharacters > kMostCharacters)
        node.fail(fmt::format("allows words of {} characters; at most {} are supported", options.mostCharacters,
                              kMostCharacters),
                  "set \"max_input_chars_per_word\" to 100");
    return {parseVocabulary(node), std::move(options)};
}

WordPiece::WordPiece(StringMap<int> vocabulary, Options options)
    : TokenModel(std::move(vocabulary)), options_(std::move(options)), unknownId_(idOf(options_.unknownToken)) {
    for (const auto& [token, id] : this->vocabulary()) longest_ = std::max(longest_, token.size());
}

std::optional<TokenModel::Token> WordPiece::longestAt(std::string_view word, size_t begin) const {
    std::string token = begin > 0 ? options_.continuingPrefix : std::string();
    const size_t prefix = token.size();
    size_t end = std::min(word.size(), begin + longest_ - std::min(longest_, prefix));
    while (end > begin && end < word.size() && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) --end;
    token += word.substr(begin, end - begin);
    while (end > begin) {
        if (const auto id = idOf(token)) return Token{*id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
        end = utf8::previous(word, end);
        token.resize(prefix + end - begin);
    }
    return std::nullopt;
}

void WordPiece::encode(std::string_view word, std::vector<Token>& tokens) const {
    const size_t before = tokens.size();
    bool isKnown = charactersOf(word) <= options_.mostCharacters;
    for (size_t at = 0; isKnown && at < word.size();) {
        const auto token = longestAt(word, at);
        isKnown = token.has_value();
        if (!isKnown) break;
        tokens.push_back(*token);
        at = token->end;
    }
    if (isKnown) return;
    tokens.resize(before);
    tokens.push_back({requireUnknown(unknownId_, options_.unknownToken, word), 0, static_cast<uint32_t>(word.size())});
}

} // namespace attn
