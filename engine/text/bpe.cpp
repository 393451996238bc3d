#include "engine/text/bpe.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/json_node.h"
#include "engine/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

namespace attn {
namespace {

constexpr size_t kMostRememberedWords = 10000, kLongestRememberedWord = 256;

uint64_t pairKey(int left, int right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

} // namespace

/// A node of the list of tokens that a word becomes. Neighbours are indices, -1 at the ends.
struct Bpe::Symbol {
    int id;
    int previous, next;
    uint32_t begin, end;
    bool isGone = false, isWhole = false;
};

Bpe::Bpe(StringMap<int> vocabulary, Options options) : TokenModel(std::move(vocabulary)), options_(std::move(options)) {
    if (options_.unknownToken) unknownId_ = idOf(*options_.unknownToken);
}

std::string Bpe::kind() const {
    if (idOf("\u0120")) return "byte-level BPE";
    return options_.byteFallback ? "SentencePiece-style BPE with byte fallback" : "BPE";
}

std::string Bpe::details() const { return merges_.empty() ? "" : fmt::format(", {} merges", merges_.size()); }

Bpe Bpe::parse(const JsonNode& node) {
    if (const auto dropout = node.find("dropout"); dropout && !dropout->isZero())
        dropout->fail("makes the ids random", "set it to null");

    Options options{.continuingPrefix = node.text("continuing_subword_prefix", ""),
                    .endSuffix = node.text("end_of_word_suffix", ""),
                    .fuseUnknown = node.flag("fuse_unk", false),
                    .byteFallback = node.flag("byte_fallback", false),
                    .ignoreMerges = node.flag("ignore_merges", false)};
    if (const auto unknown = node.find("unk_token")) {
        options.unknownToken = unknown->text();
        options.unknown = Unknown::Token;
    }
    Bpe bpe(parseVocabulary(node), std::move(options));
    bpe.parseMerges(node.at("merges"));
    return bpe;
}

Bpe Bpe::ofPieces(const SentencePieceFile& model, StringMap<int> ids, int unknownId) {
    constexpr size_t kLongestPiece = 512;
    using Piece = SentencePieceFile::Piece;
    std::vector<const Piece*> pieces;
    std::vector<PrefixTrie::Key> whole;
    std::string unknownToken;
    for (const Piece& piece : model.pieces) {
        if (piece.text.size() > kLongestPiece)
            throw Error({.what = fmt::format("has a token of {} bytes; at most {} are supported", piece.text.size(),
                                             kLongestPiece),
                         .hint = "use another tokenizer: this one is damaged or means harm"});
        if (piece.kind == SentencePieceFile::Kind::Normal) pieces.push_back(&piece);
        if (const auto id = ids.find(piece.text); id != ids.end() && piece.kind == SentencePieceFile::Kind::UserDefined)
            whole.emplace_back(piece.text, id->second);
    }
    for (const auto& [text, id] : ids)
        if (id == unknownId) unknownToken = text;
    Bpe bpe(std::move(ids), {.unknownToken = unknownToken,
                             .unknown = Unknown::Token,
                             .fuseUnknown = true,
                             .byteFallback = model.byteFallback});
    bpe.whole_ = PrefixTrie(whole);
    std::ranges::stable_sort(pieces, std::ranges::greater(), &Piece::score);
    uint32_t rank = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (i > 0 && pieces[i]->score != pieces[i - 1]->score) ++rank; // of equals, the leftmost goes first
        const std::string_view text = pieces[i]->text;
        const auto id = bpe.idOf(text);
        for (size_t at = 0; id && at < text.size();) {
            utf8::next(text, at);
            const auto left = bpe.idOf(text.substr(0, at)), right = bpe.idOf(text.substr(at));
            if (left && right) bpe.merges_.try_emplace(pairKey(*left, *right), Merge{rank, *id});
        }
    }
    return bpe;
}

void Bpe::parseMerges(const JsonNode& node) {
    uint32_t rank = 0;
    for (const JsonNode& item : node.items()) {
        std::string left, right;
        if (item.isList()) {
            const std::vector<JsonNode> pair = item.items();
            if (pair.size() != 2) item.fail(fmt::format("has {} parts, not 2", pair.size()));
            left = pair[0].text();
            right = pair[1].text();
        } else {
            const std::string line = item.text();
            if (line.starts_with("#version")) continue;
            const size_t space = line.find(' ');
            if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos)
                item.fail(fmt::format("is {}, not two tokens with a space between", inQuotes(line)));
            left = line.substr(0, space);
            right = line.substr(space + 1);
        }
        const size_t prefix = options_.continuingPrefix.size();
        if (right.size() < prefix)
            item.fail(fmt::format("has {}, which is shorter than the prefix of continued words", inQuotes(right)));
        const auto id = [&](const std::string& token) {
            const auto found = idOf(token);
            if (!found) item.fail(fmt::format("needs token {}, which is not in the vocabulary", inQuotes(token)));
            return *found;
        };
        const int leftId = id(left), rightId = id(right);
        merges_.insert_or_assign(pairKey(leftId, rightId), Merge{rank, id(left + right.substr(prefix))});
        ++rank;
    }
}

/// Adds the byte tokens of an unknown character. @return false if the vocabulary lacks one of them
bool Bpe::addBytes(std::string_view character, size_t begin, size_t end, std::vector<Symbol>& symbols) const {
    if (!std::ranges::all_of(character, [&](char byte) { return idOfByte(byte).has_value(); })) return false;
    for (size_t i = 0; i < character.size(); ++i) {
        const size_t from = std::min(begin + i, end), to = std::min(from + 1, end);
        symbols.push_back({*idOfByte(character[i]), 0, 0, static_cast<uint32_t>(from), static_cast<uint32_t>(to)});
    }
    return true;
}

std::vector<Bpe::Symbol> Bpe::symbolsOf(std::string_view word) const {
    std::vector<Symbol> symbols;
    symbols.reserve(word.size());
    std::optional<Symbol> unknown; // not placed yet, because it may grow
    const auto placeUnknown = [&] {
        if (unknown) symbols.push_back(*unknown);
        unknown.reset();
    };
    std::string affixed;
    for (size_t at = 0; at < word.size();) {
        const size_t begin = at;
        if (const auto whole = whole_.longest(word, at)) {
            placeUnknown();
            at = whole->end;
            symbols.push_back({.id = whole->number,
                               .previous = 0,
                               .next = 0,
                               .begin = static_cast<uint32_t>(begin),
                               .end = static_cast<uint32_t>(at),
                               .isWhole = true});
            continue;
        }
        utf8::next(word, at);
        std::string_view character = word.substr(begin, at - begin);
        const bool hasPrefix = begin > 0 && !options_.continuingPrefix.empty();
        const bool hasSuffix = at == word.size() && !options_.endSuffix.empty();
        if (hasPrefix || hasSuffix) {
            affixed = hasPrefix ? options_.continuingPrefix : "";
            affixed += character;
            if (hasSuffix) affixed += options_.endSuffix;
            character = affixed;
        }
        if (const auto id = idOf(character)) {
            placeUnknown();
            symbols.push_back({*id, 0, 0, static_cast<uint32_t>(begin), static_cast<uint32_t>(at)});
        } else if (options_.byteFallback && addBytes(character, begin, at, symbols)) {
            // As in Hugging Face's library, a waiting unknown token is placed after these bytes.
        } else if (options_.unknown == Unknown::Refused) {
            throw Error({.what = fmt::format("this model has no token for \"{}\"", character),
                         .where = "text",
                         .hint = fmt::format("use only its {} characters", vocabulary().size())});
        } else if (options_.unknown == Unknown::Token) {
            const int missing = requireUnknown(unknownId_, *options_.unknownToken, character);
            if (unknown && options_.fuseUnknown) {
                unknown->end = static_cast<uint32_t>(at);
            } else {
                placeUnknown();
                unknown = Symbol{missing, 0, 0, static_cast<uint32_t>(begin), static_cast<uint32_t>(at)};
            }
        }
    }
    placeUnknown();
    return symbols;
}

const Bpe::Merge* Bpe::mergeOf(const Symbol& left, const Symbol& right) const {
    if (left.isWhole || right.isWhole) return nullptr;
    const auto found = merges_.find(pairKey(left.id, right.id));
    return found == merges_.end() ? nullptr : &found->second;
}

void Bpe::mergeAll(std::vector<Symbol>& symbols) const {
    struct Candidate {
        uint32_t rank;
        int left;
        int id;
        bool operator>(const Candidate& other) const {
            return std::pair(rank, left) > std::pair(other.rank, other.left);
        }
    };
    std::vector<Candidate> initial;
    const auto count = static_cast<int>(symbols.size());
    for (int i = 0; i < count; ++i) {
        Symbol& symbol = symbols[static_cast<size_t>(i)];
        symbol.previous = i - 1;
        symbol.next = i + 1 < count ? i + 1 : -1;
        if (symbol.next < 0) break;
        if (const Merge* merge = mergeOf(symbol, symbols[static_cast<size_t>(i) + 1]))
            initial.push_back({merge->rank, i, merge->id});
    }
    std::priority_queue queue(std::greater<Candidate>(), std::move(initial));
    const auto propose = [&](int left) {
        const Symbol& symbol = symbols[static_cast<size_t>(left)];
        if (const Merge* merge = mergeOf(symbol, symbols[static_cast<size_t>(symbol.next)]))
            queue.push({merge->rank, left, merge->id});
    };
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Symbol& left = symbols[static_cast<size_t>(best.left)];
        if (left.isGone || left.next < 0) continue;
        Symbol& right = symbols[static_cast<size_t>(left.next)];
        const Merge* merge = mergeOf(left, right);
        if (merge == nullptr || merge->id != best.id) continue; // one of the two tokens has changed since then
        left.id = best.id;
        left.begin = std::min(left.begin, right.begin);
        left.end = std::max(left.end, right.end);
        left.next = right.next;
        right.isGone = true;
        if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = best.left;
        if (left.previous >= 0) propose(left.previous);
        if (left.next >= 0) propose(best.left);
    }
    std::erase_if(symbols, [](const Symbol& symbol) { return symbol.isGone; });
}

void Bpe::encode(std::string_view word, std::vector<Token>& tokens) const {
    if (options_.ignoreMerges) {
        if (const auto id = idOf(word)) {
            tokens.push_back({*id, 0, static_cast<uint32_t>(word.size())});
            return;
        }
    }
    const bool isShort = word.size() <= kLongestRememberedWord;
    if (isShort) {
        const std::lock_guard lock(cache_->mutex);
        if (const auto known = cache_->words.find(word); known != cache_->words.end()) {
            tokens.insert(tokens.end(), known->second.begin(), known->second.end());
            return;
        }
    }
    std::vector<Symbol> symbols = symbolsOf(word);
    mergeAll(symbols);
    std::vector<Token> encoded;
    encoded.reserve(symbols.size());
    for (const Symbol& symbol : symbols) encoded.push_back({symbol.id, symbol.begin, symbol.end});
    tokens.insert(tokens.end(), encoded.begin(), encoded.end());
    if (isShort) {
        const std::lock_guard lock(cache_->mutex);
        if (cache_->words.size() < kMostRememberedWords) cache_->words.emplace(word, std::move(encoded));
    }
}

} // namespace attn
