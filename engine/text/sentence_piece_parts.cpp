#include "engine/text/sentence_piece_parts.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/bpe.h"
#include "engine/text/json_node.h"
#include "engine/text/unigram.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace attn {
namespace {

using Kind = SentencePieceFile::Kind;

AddedTokens::Token special(const std::string& token, int id, bool stripsLeft = false) {
    return {.content = token, .id = id, .stripsLeft = stripsLeft, .isSpecial = true, .decoded = token};
}

constexpr const char* kCopyAgain = "copy the file again, or use a folder of a supported model";

/// A template with one token after each text.
SpecialTemplate endingWith(int id) {
    const SpecialTemplate::Piece end{.token = id}, second{.token = {}, .text = 1};
    return {.single = {{}, end}, .pair = {{}, end, second, end}};
}

/// The id of a token. @throws Error if there is none
int idOf(const StringMap<int>& ids, const std::string& token, const std::string& file) {
    if (const auto found = ids.find(token); found != ids.end()) return found->second;
    throw Error(
        {.what = fmt::format("{} is missing among the tokens", inQuotes(token)), .where = file, .hint = kCopyAgain});
}

/// @param ids of the pieces  @param added tokens that are cut out of a text  @param specials the tokens around a text
TokenizerParts partsOf(const SentencePieceFile& model, const std::string& file, StringMap<int> ids, int unknownId,
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
        // A piece that a person defined scores better than all pieces of its letters, so it stays whole.
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
    // Refuses pieces that are too long, so that the tree of the user-defined pieces stays small.
    auto pieceModel = naming("the model", [&]() -> std::unique_ptr<const TokenModel> {
        if (model.mergesPairs) return std::make_unique<Bpe>(Bpe::ofPieces(model, std::move(ids), unknownId));
        return std::make_unique<Unigram>(std::move(ids), pieces,
                                         Unigram::Options{.unknownId = unknownId,
                                                          .unknownScore = Unigram::unknownScore(least),
                                                          .byteFallback = model.byteFallback});
    });
    return {.normalizer = Normalizer(SentencePieceNormalizer{
                .charsmap = naming("\"precompiled_charsmap\"", [&] { return Charsmap(model.charsmap); }),
                .kept = PrefixTrie(kept),
                .addsPrefix = model.addsPrefix,
                .prefixesOnlyFirst = model.prefixesOnlyFirst,
                .removesSpaces = model.removesSpaces,
                .marksSpaces = model.marksSpaces}),
            .model = std::move(pieceModel),
            .added = AddedTokens(std::move(added)),
            .specials = std::move(specials),
            .decoder = TokenDecoder::sentencePiece(model.addsPrefix || model.removesSpaces, model.byteFallback)};
}

/// Parts with the ids of the file. Tokens that stand for no text are special.
TokenizerParts plainParts(const SentencePieceFile& model, const std::string& file) {
    StringMap<int> ids;
    std::vector<AddedTokens::Token> added;
    std::optional<int> unknown;
    int next = 0;
    for (const SentencePieceFile::Piece& piece : model.pieces) {
        ids.insert_or_assign(piece.text, next);
        if (piece.kind == Kind::Unknown) unknown = next;
        if (piece.kind == Kind::Unknown || piece.kind == Kind::Control) added.push_back(special(piece.text, next));
        ++next;
    }
    if (!unknown) throw Error({.what = "there is no token for what is unknown", .where = file, .hint = kCopyAgain});
    return partsOf(model, file, std::move(ids), *unknown, std::move(added), {});
}

/// Refuses a file if its first pieces are not those of this kind of model.
void requireFirst(const SentencePieceFile& model, const std::string& file, const char* whose) {
    const std::array<std::string, 3> first{"<unk>", "<s>", "</s>"};
    const bool isKnown =
        model.pieces.size() >= first.size() &&
        std::ranges::equal(first, std::span(model.pieces).first(first.size()), {}, {}, &SentencePieceFile::Piece::text);
    if (!isKnown)
        throw Error({.what = fmt::format("the first three pieces are not <unk>, <s> and </s>, as {} are", whose),
                     .where = file,
                     .hint = "put the model's tokenizer.json into its folder"});
}

/// One token before and one after each text, and two between the texts of a pair, as in RoBERTa.
SpecialTemplate robertaTemplate(int beginId, int endId) {
    const SpecialTemplate::Piece begin{.token = beginId}, end{.token = endId}, second{.token = {}, .text = 1};
    return {.single = {begin, {}, end}, .pair = {begin, {}, end, end, second, end}};
}

/// The parts of tokenizers that put their own tokens before the pieces of a file, and <mask> after them.
/// @param own tokens; the fourth stands for unknown text  @param first of the pieces that have ids
TokenizerParts ownBeforePieces(const SentencePieceFile& model, const std::string& file,
                               const std::vector<std::string>& own, size_t first) {
    StringMap<int> ids;
    std::vector<AddedTokens::Token> added;
    int next = 0;
    for (const std::string& token : own) {
        added.push_back(special(token, next));
        ids.emplace(token, next++);
    }
    for (const SentencePieceFile::Piece& piece : std::span(model.pieces).subspan(first)) {
        if (piece.text == "<s>" || piece.text == "</s>") added.push_back(special(piece.text, next));
        ids.insert_or_assign(piece.text, next++);
    }
    ids.insert_or_assign("<mask>", next);
    added.push_back(special("<mask>", next, true));
    constexpr int kUnknown = 3;
    const int begin = idOf(ids, "<s>", file), end = idOf(ids, "</s>", file);
    return partsOf(model, file, std::move(ids), kUnknown, std::move(added), robertaTemplate(begin, end));
}

} // namespace

TokenizerParts t5Parts(const SentencePieceFile& model, const std::string& file, std::optional<size_t> sentinels) {
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

TokenizerParts xlmRobertaParts(const SentencePieceFile& model, const std::string& file) {
    requireFirst(model, file, "XLM-RoBERTa's");
    return ownBeforePieces(model, file, {"<s>", "<pad>", "</s>", "<unk>"}, 3);
}

TokenizerParts camembertParts(const SentencePieceFile& model, const std::string& file) {
    requireFirst(model, file, "CamemBERT's");
    return ownBeforePieces(model, file, {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"}, 1);
}

TokenizerParts cleanedParts(const SentencePieceFile& model, const std::string& file, const CleanedPieces& how) {
    TokenizerParts parts = plainParts(model, file);
    nlohmann::json steps = nlohmann::json::array();
    for (const char* quotes : {"``", "''"})
        steps.push_back({{"type", "Replace"}, {"pattern", {{"String", quotes}}}, {"content", "\""}});
    if (!how.keepsAccents) {
        steps.push_back({{"type", "NFKD"}});
        steps.push_back({{"type", "StripAccents"}});
    }
    if (how.lowercases) steps.push_back({{"type", "Lowercase"}});
    const nlohmann::json sequence{{"type", "Sequence"}, {"normalizers", steps}};
    parts.normalizer = Normalizer::parse(JsonNode(sequence, file)).then(parts.normalizer);

    const auto token = [&](const std::string& text, int type) -> std::vector<SpecialTemplate::Piece> {
        if (text.empty()) return {};
        const auto id = parts.idOf(text);
        if (!id)
            throw Error({.what = fmt::format("{} is missing among the tokens", inQuotes(text)),
                         .where = file,
                         .hint = kCopyAgain});
        return {{.token = id, .type = type}};
    };
    SpecialTemplate around{.single = token(how.first, 0), .pair = token(how.first, 0)};
    const auto append = [](std::vector<SpecialTemplate::Piece>& to, const std::vector<SpecialTemplate::Piece>& pieces) {
        to.insert(to.end(), pieces.begin(), pieces.end());
    };
    for (const int text : {0, 1}) {
        std::vector<SpecialTemplate::Piece> piece{{.token = {}, .text = text, .type = text}};
        append(piece, token(how.separator, text));
        if (text == 0) append(around.single, piece);
        append(around.pair, piece);
    }
    append(around.single, token(how.last, 2));
    append(around.pair, token(how.last, 2));
    parts.specials = std::move(around);
    return parts;
}

TokenizerParts llamaParts(const SentencePieceFile& model, const std::string& file) {
    TokenizerParts parts = plainParts(model, file);
    if (!model.removesSpaces) parts.decoder = TokenDecoder::sentencePieceExact(model.addsPrefix, model.byteFallback);
    return parts;
}

TokenizerParts marianParts(const SentencePieceFile& model, const std::string& file, StringMap<int> ids,
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
