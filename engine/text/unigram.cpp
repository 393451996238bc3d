#include "engine/text/unigram.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/json_node.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace attn {
namespace {

// Every place of a text is compared with the longest piece, and the tree of the pieces takes 12 bytes for each of their
// bytes. Known pieces have at most 200 bytes, and known vocabularies 3 MB.
constexpr size_t kLongestPiece = 512, kMostPieceBytes = size_t{1} << 24;

} // namespace

Unigram Unigram::parse(const JsonNode& node) {
    StringMap<int> vocabulary;
    std::vector<Piece> pieces;
    double least = std::numeric_limits<double>::infinity();
    for (const JsonNode& item : node.at("vocab").items()) {
        const std::vector<JsonNode> pair = item.items();
        if (pair.size() != 2) item.fail(fmt::format("has {} parts, not a token and its score", pair.size()));
        pieces.push_back({pair[0].text(), pair[1].number()});
        least = std::min(least, pieces.back().score);
        vocabulary.insert_or_assign(pieces.back().text, static_cast<int>(pieces.size()) - 1);
    }
    Options options{.unknownScore = unknownScore(least), .byteFallback = node.flag("byte_fallback", false)};
    if (const auto unknown = node.find("unk_id")) {
        options.unknownId = unknown->tokenId();
        if (static_cast<size_t>(*options.unknownId) >= pieces.size())
            unknown->fail(fmt::format("is {}, but there are {} tokens", *options.unknownId, pieces.size()));
    }
    return node.at("vocab").naming([&] { return Unigram(std::move(vocabulary), pieces, options); });
}

Unigram::Unigram(StringMap<int> vocabulary, std::span<const Piece> pieces, Options options)
    : TokenModel(std::move(vocabulary)), options_(options) {
    const auto refuse = [](const std::string& what) {
        throw Error({.what = what, .hint = "use another tokenizer: this one is damaged or means harm"});
    };
    if (pieces.size() > kMostTokens)
        refuse(fmt::format("has {} tokens; at most {} are supported", pieces.size(), kMostTokens));
    std::vector<PrefixTrie::Key> keys;
    size_t bytes = 0;
    for (size_t i = pieces.size(); i-- > 0;) { // the tree keeps the first of two with the same text
        const Piece& piece = pieces[i];
        if (piece.text.size() > kLongestPiece)
            refuse(fmt::format("has a token of {} bytes; at most {} are supported", piece.text.size(), kLongestPiece));
        if ((bytes += piece.text.size()) > kMostPieceBytes)
            refuse(fmt::format("has more than {} bytes of tokens", kMostPieceBytes));
        if (!piece.isMatched) continue;
        keys.emplace_back(piece.text, static_cast<int>(i));
        if (options_.unknownId && unknownPiece_ < 0 && idOf(piece.text) == options_.unknownId)
            unknownPiece_ = static_cast<int>(i);
    }
    for (const Piece& piece : pieces) scores_.push_back(piece.score);
    trie_ = PrefixTrie(keys);
}

std::string Unigram::kind() const { return options_.byteFallback ? "Unigram with byte fallback" : "Unigram"; }

void Unigram::encode(std::string_view word, std::vector<Token>& tokens) const {
    constexpr int kNothing = -2, kUnknown = -1;
    struct Best {
        double score = 0; ///< of all pieces up to this byte
        size_t begin = 0; ///< of the last piece
        int piece = kNothing;
    };
    std::vector<Best> best(word.size() + 1); // the best way to cut the word up to each byte
    const auto offer = [&](size_t begin, size_t end, int piece, double score) {
        const double sum = best[begin].score + score;
        if (best[end].piece == kNothing || sum > best[end].score) best[end] = {sum, begin, piece};
    };
    for (size_t at = 0; at < word.size();) {
        size_t next = at;
        utf8::next(word, next);
        bool isCovered = false;
        trie_.each(word, at, [&](const PrefixTrie::Match& match) {
            offer(at, match.end, match.number, scores_[static_cast<size_t>(match.number)]);
            isCovered = isCovered || match.end == next;
        });
        if (!isCovered) offer(at, next, kUnknown, options_.unknownScore);
        at = next;
    }
    const auto isUnknown = [&](size_t end) {
        return end > 0 && (best[end].piece == kUnknown || (unknownPiece_ >= 0 && best[end].piece == unknownPiece_));
    };
    const auto before = static_cast<std::ptrdiff_t>(tokens.size());
    for (size_t end = word.size(); end > 0;) {
        size_t begin = best[end].begin;
        while (isUnknown(end) && isUnknown(begin)) begin = best[begin].begin;
        addBackwards(word, begin, end, tokens);
        end = begin;
    }
    std::reverse(tokens.begin() + before, tokens.end());
}

void Unigram::addBackwards(std::string_view word, size_t begin, size_t end, std::vector<Token>& tokens) const {
    const std::string_view text = word.substr(begin, end - begin);
    const auto add = [&](int id, size_t from, size_t to) {
        tokens.push_back({id, static_cast<uint32_t>(from), static_cast<uint32_t>(to)});
    };
    if (const auto id = idOf(text)) {
        add(*id, begin, end);
    } else if (options_.byteFallback &&
               std::ranges::all_of(text, [&](char byte) { return idOfByte(byte).has_value(); })) {
        for (size_t at = end; at-- > begin;) add(*idOfByte(word[at]), at, at + 1);
    } else if (options_.unknownId) {
        add(*options_.unknownId, begin, end);
    } else {
        throw Error(
            {.what = fmt::format("the tokenizer has no token for {}, and none for unknown text", inQuotes(text)),
             .where = "text",
             .hint = "leave it out"});
    }
}

} // namespace attn
