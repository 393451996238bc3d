#include "engine/data/tokenizer_json.h"

#include "engine/text/byte_alphabet.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace attn {
namespace {

using Json = nlohmann::json;

std::string inByteAlphabet(std::string_view bytes) { return std::string(toByteAlphabet(AlignedText(bytes, 0)).text()); }

/// A BPE model without merges.
Json model(const std::vector<std::string>& tokens) {
    Json vocabulary = Json::object();
    for (const std::string& token : tokens) vocabulary.emplace(token, vocabulary.size());
    return {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", std::move(vocabulary)},
            {"merges", Json::array()}};
}

Json byteLevel(bool beginsWithSpace = false) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", beginsWithSpace}, {"trim_offsets", true}, {"use_regex", true}};
}

Json specialToken(std::string_view content, size_t id) {
    return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
            {"rstrip", false}, {"normalized", false}, {"special", true}};
}

/// Adds special tokens to the end of a vocabulary.
Json specialTokens(const std::vector<std::string>& specials, std::vector<std::string>& tokens) {
    Json added = Json::array();
    for (const std::string& special : specials) {
        added.push_back(specialToken(special, tokens.size()));
        tokens.push_back(special);
    }
    return added;
}

struct Stages {
    Json specials = Json::array();
    Json preTokenizer{}, decoder{}, postProcessor{};
};

/// Puts a special token before every text.
Json beginsWith(std::string_view token, size_t id) {
    const Json special{{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
    const auto sequence = [](const char* name) { return Json{{"Sequence", {{"id", name}, {"type_id", 0}}}}; };
    return {{"type", "TemplateProcessing"},
            {"single", Json::array({special, sequence("A")})},
            {"pair", Json::array({special, sequence("A"), special, sequence("B")})},
            {"special_tokens",
             {{std::string(token), {{"id", token}, {"ids", Json::array({id})}, {"tokens", Json::array({token})}}}}}};
}

std::string document(Json model, Stages stages) {
    const Json whole{{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", std::move(stages.specials)},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", std::move(stages.preTokenizer)},
                     {"post_processor", std::move(stages.postProcessor)},
                     {"decoder", std::move(stages.decoder)},
                     {"model", std::move(model)}};
    return whole.dump(1) + "\n";
}

} // namespace

std::string symbolTokenizerJson(const std::vector<std::string>& symbols) {
    std::vector<std::string> tokens = symbols;
    tokens.emplace_back(kEndOfText);
    Json symbolModel = model(tokens);
    symbolModel["ignore_merges"] = true; // "12" is one token without a merge
    return document(std::move(symbolModel), {.specials = Json::array({specialToken(kEndOfText, symbols.size())}),
                                             .preTokenizer = {{"type", "WhitespaceSplit"}}});
}

std::string characterTokenizerJson(const std::vector<std::string>& alphabet, const std::vector<std::string>& specials) {
    std::vector<std::string> tokens = alphabet;
    Json added = specialTokens(specials, tokens);
    return document(model(tokens), {.specials = std::move(added), .decoder = {{"type", "Fuse"}}});
}

std::vector<unsigned char> gpt2Bytes() {
    std::vector<unsigned char> bytes;
    for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<unsigned char>(byte));
    std::stable_partition(bytes.begin(), bytes.end(), [](unsigned char byte) {
        const char itself = static_cast<char>(byte);
        const std::string standIn = inByteAlphabet({&itself, 1});
        return byte < 128 ? standIn == std::string(1, itself) : standIn.size() == 2 && standIn < "\u0100";
    });
    return bytes;
}

std::string byteLevelTokenizerJson(std::span<const MergePair> merges, const std::vector<std::string>& specials) {
    std::vector<std::string> tokens;
    for (const unsigned char byte : gpt2Bytes())
        tokens.push_back(inByteAlphabet(std::string(1, static_cast<char>(byte))));
    Json pairs = Json::array();
    for (const auto& [left, right] : merges) {
        tokens.push_back(inByteAlphabet(left + right));
        pairs.push_back(inByteAlphabet(left) + " " + inByteAlphabet(right));
    }
    Json added = specialTokens(specials, tokens);
    Json byteModel = model(tokens);
    byteModel["merges"] = std::move(pairs);
    return document(std::move(byteModel),
                    {.specials = std::move(added), .preTokenizer = byteLevel(), .decoder = byteLevel()});
}

std::string pieceTokenizerJson(const std::vector<std::string>& pieces, const std::vector<std::string>& specials) {
    constexpr const char* kBlank = "\u2581";
    std::vector<std::string> tokens{"<unk>"};
    for (std::string piece : pieces) {
        for (size_t at = 0; (at = piece.find(' ', at)) != std::string::npos;) piece.replace(at, 1, kBlank);
        tokens.push_back(std::move(piece));
    }
    Json added = specialTokens(specials, tokens);
    added.insert(added.begin(), specialToken(tokens.front(), 0));
    Json vocabulary = Json::array();
    for (const std::string& token : tokens) vocabulary.push_back(Json::array({token, -1.0}));
    const Json metaspace{
        {"type", "Metaspace"}, {"replacement", kBlank}, {"add_prefix_space", true}, {"prepend_scheme", "always"}};
    return document({{"type", "Unigram"}, {"unk_id", 0}, {"vocab", std::move(vocabulary)}, {"byte_fallback", false}},
                    {.specials = std::move(added), .preTokenizer = metaspace, .decoder = metaspace});
}

std::string wordTokenizerJson(const std::vector<std::string>& characters, const std::vector<std::string>& words) {
    constexpr std::string_view kUnknown = "<unk>";
    std::vector<std::string> tokens{std::string(kEndOfText), std::string(kUnknown)};
    for (const std::string& character : characters) tokens.push_back(inByteAlphabet(character));
    for (const std::string& word : words) tokens.push_back(inByteAlphabet(word));
    Json wordModel = model(tokens);
    wordModel["ignore_merges"] = true;
    wordModel["unk_token"] = kUnknown;
    wordModel["fuse_unk"] = true;
    return document(std::move(wordModel),
                    {.specials = Json::array({specialToken(kEndOfText, 0), specialToken(kUnknown, 1)}),
                     .preTokenizer = byteLevel(true),
                     .decoder = byteLevel(),
                     .postProcessor = beginsWith(kEndOfText, 0)});
}

} // namespace attn
