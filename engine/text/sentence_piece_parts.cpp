#include "engine/text/sentence_piece_parts.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

namespace attn {
namespace {

using Kind = SentencePieceFile::Kind;

AddedTokens::Token special(const std::string& token, int id, bool stripsLeft = false) {
    return {.content = token, .id = id, .stripsLeft = stripsLeft, .isSpecial = true, .decoded = token};
}

/// A template with one token behind each text.
SpecialTemplate endingWith(int id) {
    const SpecialTemplate::Piece end{.token = id}, second{.token = {}, .text = 1};
    return {.single = {{}, end}, .pair = {{}, end, second, end}};
}

/// The id of a token. @throws Error if there is none
int idOf(const StringMap<int>& ids, const std::string& token, const std::string& file) {
    if (const auto found = ids.find(token); found != ids.end()) return found->second;
    throw Error({.what = fmt::format("{} is missing among the tokens", inQuotes(token)),
                 .where = file,
                 .hint = "copy the file again, or use a folder of a supported model"});
}

/// @param ids of the pieces  @param added tokens that are cut out of a text  @param specials what stands around texts
SentencePieceParts partsOf(const SentencePieceFile& model, const std::string& file, StringMap<int> ids, int unknownId,
                           std::vector<AddedTokens::Token> added, SpecialTemplate specials) {
    std::vector<double> scores;
    for (const SentencePieceFile::Piece& piece : model.pieces)
        if (piece.kind == Kind::Normal) scores.push_back(piece.score);
    if (scores.empty()) scores.push_back(0);
    const double least = *std::ranges::min_element(scores), greatest = *std::ranges::max_element(scores);
    std::vector<Unigram::Piece> pieces;
    std::vector<PrefixTrie::Key> kept;
    for (const SentencePieceFile::Piece& piece : model.pieces) {
        const bool isUserDefined = piece.kind == Kind::UserDefined;
        if (isUserDefined) kept.emplace_back(piece.text, 0);
        // What a person defined is better than all pieces that its letters could be, so that it stays whole.
        pieces.push_back(
            {.text = piece.text,
             .score = isUserDefined ? static_cast<double>(piece.text.size()) * greatest - 0.1 : double{piece.score},
             .isMatched = isUserDefined || piece.kind == Kind::Normal});
    }
    const auto naming = [&](const std::string& part, const auto& action) {
        try {
            return action();
        } catch (const Error& error) {
            throw Error({.what = part + " " + error.message(), .where = file, .hint = error.hint()});
        }
    };
    // Refuses pieces that are too long, so that the tree of those that a person defined is not too large.
    auto unigram = naming("the model", [&] {
        return std::make_unique<Unigram>(std::move(ids), pieces,
                                         Unigram::Options{.unknownId = unknownId,
                                                          .unknownScore = Unigram::unknownScore(least),
                                                          .byteFallback = model.byteFallback});
    });
    return {Normalizer(SentencePieceNormalizer{
                .charsmap = naming("\"precompiled_charsmap\"", [&] { return Charsmap(model.charsmap); }),
                .kept = PrefixTrie(kept),
                .addsPrefix = model.addsPrefix,
                .removesSpaces = model.removesSpaces,
                .marksSpaces = model.marksSpaces}),
            std::move(unigram), AddedTokens(std::move(added)), std::move(specials),
            TokenDecoder::sentencePiece(model.addsPrefix || model.removesSpaces, model.byteFallback)};
}

} // namespace

SentencePieceParts t5Parts(const SentencePieceFile& model, const std::string& file, std::optional<size_t> sentinels) {
    constexpr size_t kUsual = 100;
    StringMap<int> ids;
    std::vector<AddedTokens::Token> added;
    int next = 0;
    for (const SentencePieceFile::Piece& piece : model.pieces) {
        ids.insert_or_assign(piece.text, next);
        if (piece.kind == Kind::Unknown || piece.kind == Kind::Control) added.push_back(special(piece.text, next));
        ++next;
    }
    const bool hasSentinels = ids.contains("<extra_id_0>") || ids.contains("\u2581<extra_id_0>");
    for (size_t i = sentinels.value_or(hasSentinels ? 0 : kUsual); i-- > 0;) {
        const std::string sentinel = fmt::format("<extra_id_{}>", i);
        ids.insert_or_assign(sentinel, next);
        added.push_back(special(sentinel, next++));
    }
    const int unknown = idOf(ids, "<unk>", file), end = idOf(ids, "</s>", file);
    return partsOf(model, file, std::move(ids), unknown, std::move(added), endingWith(end));
}

SentencePieceParts xlmRobertaParts(const SentencePieceFile& model, const std::string& file) {
    const std::vector<std::string> own{"<s>", "<pad>", "</s>", "<unk>"}, replaced{"<unk>", "<s>", "</s>"};
    const bool isKnown = model.pieces.size() >= replaced.size() &&
                         std::ranges::equal(replaced, std::span(model.pieces).first(replaced.size()), {}, {},
                                            &SentencePieceFile::Piece::text);
    if (!isKnown)
        throw Error({.what = "the first three pieces are not <unk>, <s> and </s>, as XLM-RoBERTa's are",
                     .where = file,
                     .hint = "put the model's tokenizer.json into its folder"});
    StringMap<int> ids;
    std::vector<AddedTokens::Token> added;
    int next = 0;
    for (const std::string& token : own) {
        added.push_back(special(token, next));
        ids.emplace(token, next++);
    }
    for (const SentencePieceFile::Piece& piece : std::span(model.pieces).subspan(replaced.size()))
        ids.insert_or_assign(piece.text, next++);
    ids.insert_or_assign("<mask>", next);
    added.push_back(special("<mask>", next, true));
    const SpecialTemplate::Piece begin{.token = 0}, end{.token = 2}, second{.token = {}, .text = 1};
    return partsOf(model, file, std::move(ids), 3, std::move(added),
                   {.single = {begin, {}, end}, .pair = {begin, {}, end, end, second, end}});
}

SentencePieceParts marianParts(const SentencePieceFile& model, const std::string& file, StringMap<int> ids,
                               const std::string& idsFile) {
    std::vector<AddedTokens::Token> added;
    for (const auto& [token, id] : ids) {
        const bool isLanguage = token.size() > 4 && token.starts_with(">>") && token.ends_with("<<");
        if (isLanguage || token == "</s>" || token == "<unk>" || token == "<pad>") added.push_back(special(token, id));
    }
    const int unknown = idOf(ids, "<unk>", idsFile), end = idOf(ids, "</s>", idsFile);
    return partsOf(model, file, std::move(ids), unknown, std::move(added), endingWith(end));
}

} // namespace attn
