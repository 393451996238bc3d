#include "engine/text/token_model.h"

#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/text/bpe.h"
#include "engine/text/json_node.h"
#include "engine/text/unigram.h"
#include "engine/text/word_level.h"
#include "engine/text/word_piece.h"

#include <fmt/format.h>

namespace attn {

namespace {

/// The kind of a model in an old file, which does not name it.
std::string kindByFields(const JsonNode& node) {
    if (node.find("merges")) return "BPE";
    if (node.find("max_input_chars_per_word")) return "WordPiece";
    return node.at("vocab").isList() ? "Unigram" : "WordLevel";
}

} // namespace

TokenModel::TokenModel(StringMap<int> vocabulary) : vocabulary_(std::move(vocabulary)) {
    for (size_t byte = 0; byte < byteIds_.size(); ++byte) byteIds_[byte] = idOf(fmt::format("<0x{:02X}>", byte));
}

std::unique_ptr<const TokenModel> TokenModel::parse(const JsonNode& node) {
    const std::string type = node.find("type") ? node.type() : kindByFields(node);
    if (type == "BPE") return std::make_unique<Bpe>(Bpe::parse(node));
    if (type == "WordPiece") return std::make_unique<WordPiece>(WordPiece::parse(node));
    if (type == "WordLevel") return std::make_unique<WordLevel>(WordLevel::parse(node));
    if (type == "Unigram") return std::make_unique<Unigram>(Unigram::parse(node));
    node.fail(fmt::format("is of type {}, which is not supported", printable(type)),
              "use a model with a BPE, WordPiece, WordLevel or Unigram tokenizer, or enter token ids");
}

StringMap<int> TokenModel::parseVocabulary(const JsonNode& node) {
    StringMap<int> vocabulary;
    const auto entries = node.at("vocab").vocabulary(kMostTokens);
    vocabulary.reserve(entries.size());
    for (const auto& [token, id] : entries) vocabulary.emplace(token, id);
    return vocabulary;
}

std::optional<int> TokenModel::idOf(std::string_view token) const {
    const auto found = vocabulary_.find(token);
    return found == vocabulary_.end() ? std::nullopt : std::optional(found->second);
}

int TokenModel::requireUnknown(std::optional<int> id, const std::string& token, std::string_view text) {
    if (id) return *id;
    throw Error({.what = fmt::format("the unknown token \"{}\" is not in the tokenizer's vocabulary", token),
                 .where = "text",
                 .hint = fmt::format("leave out \"{}\" or copy the files of the tokenizer again", text)});
}

} // namespace attn
