#include "engine/text/added_tokens.h"

#include "engine/text/json_node.h"
#include "engine/text/text_budget.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

bool isWordCharacter(std::string_view character) {
    static const Pattern word = Pattern::regex(fmt::format("[{}]", kRustWordMembers));
    TextBudget budget(character.size());
    return !word.find(character, budget).empty();
}

bool endsWithWord(std::string_view text) {
    return !text.empty() && isWordCharacter(text.substr(utf8::previous(text, text.size())));
}

bool startsWithWord(std::string_view text) {
    size_t end = 0;
    if (text.empty()) return false;
    utf8::next(text, end);
    return isWordCharacter(text.substr(0, end));
}

size_t trailingWhitespaceBegin(std::string_view text) {
    size_t begin = text.size();
    while (begin > 0) {
        const size_t start = utf8::previous(text, begin);
        size_t at = start;
        if (!utf8::isWhitespace(utf8::next(text, at))) break;
        begin = start;
    }
    return begin;
}

size_t leadingWhitespaceEnd(std::string_view text) {
    size_t end = 0;
    for (size_t at = 0; at < text.size() && utf8::isWhitespace(utf8::next(text, at));) end = at;
    return end;
}

} // namespace

AddedTokens::AddedTokens(std::vector<Token> tokens) : tokens_(std::move(tokens)) { makeTrees(true); }

void AddedTokens::splitSpecial() { makeTrees(false); }

void AddedTokens::makeTrees(bool findsSpecial) {
    std::vector<PrefixTrie::Key> plain, normalized;
    for (const bool special : {true, false}) // if two have the same text, the special one is used
        for (size_t i = 0; i < tokens_.size(); ++i)
            if (tokens_[i].isSpecial == special && (findsSpecial || !special))
                (tokens_[i].isNormalized ? normalized : plain).emplace_back(tokens_[i].decoded, static_cast<int>(i));
    plain_ = PrefixTrie(plain);
    normalized_ = PrefixTrie(normalized);
}

AddedTokens AddedTokens::parse(const JsonNode& node, const TokenModel& model, const Normalizer& normalizer) {
    std::vector<Token> tokens;
    size_t bytes = 0;
    const int vocabularySize = static_cast<int>(model.vocabulary().size());
    StringMap<int> ids;
    int largest = -1;
    for (const JsonNode& item : node.items()) {
        Token token{.content = item.at("content").text(),
                    .singleWord = item.flag("single_word", false),
                    .stripsLeft = item.flag("lstrip", false),
                    .stripsRight = item.flag("rstrip", false),
                    .isNormalized = item.flag("normalized", true),
                    .isSpecial = item.flag("special", false)};
        if (token.content.empty()) continue;
        const auto known = ids.find(token.content);
        if (known != ids.end())
            token.id = known->second;
        else if (const auto id = model.idOf(token.content))
            token.id = *id;
        else
            token.id = std::max(vocabularySize, largest + 1);
        if (token.content.size() > kLongest)
            item.fail(fmt::format("is a token of {} bytes; at most {} are supported", token.content.size(), kLongest));
        TextBudget budget(token.content.size());
        token.decoded =
            token.isNormalized ? normalizer.apply(AlignedText(token.content, 0), budget).text() : token.content;
        if ((bytes += token.decoded.size()) > kMostBytes)
            node.fail(fmt::format("has more than {} bytes of tokens", kMostBytes));
        ids.insert_or_assign(token.content, token.id);
        largest = std::max(largest, token.id);
        tokens.push_back(std::move(token));
    }
    return AddedTokens(std::move(tokens));
}

void AddedTokens::cut(const AlignedText& aligned, const PrefixTrie& finder, std::vector<Part>& parts) const {
    const std::string_view text = aligned.text();
    const auto addText = [&](size_t begin, size_t end) {
        if (begin < end) parts.push_back({aligned.slice(begin, end), std::nullopt});
    };
    size_t done = 0;
    for (size_t at = 0; at < text.size();) {
        const auto match = finder.longest(text, at);
        if (!match) {
            ++at;
            continue;
        }
        const Token& token = tokens_[static_cast<size_t>(match->number)];
        size_t begin = at, end = match->end;
        at = end;
        if (token.singleWord && (endsWithWord(text.substr(0, begin)) || startsWithWord(text.substr(end)))) continue;
        // Text that an earlier token took is not searched again.
        if (token.stripsLeft)
            begin = begin > done ? done + trailingWhitespaceBegin(text.substr(done, begin - done)) : done;
        if (token.stripsRight) end = end < done ? done : end + leadingWhitespaceEnd(text.substr(end));
        addText(done, begin);
        parts.push_back({aligned.slice(begin, end), token.id});
        done = end;
    }
    addText(done, text.size());
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text, const Normalizer& normalizer,
                                                  TextBudget& budget) const {
    std::vector<Part> plain, parts;
    cut(AlignedText(text, 0), plain_, plain);
    for (Part& part : plain) {
        if (part.id)
            parts.push_back(std::move(part));
        else
            cut(normalizer.apply(std::move(part.text), budget), normalized_, parts);
    }
    return parts;
}

} // namespace attn
