#include "engine/core/error.h"
#include "engine/core/quoting.h"
#include "engine/io/input_file.h"
#include "engine/io/is_in_folder.h"
#include "engine/io/json_file.h"
#include "engine/text/bert_vocabulary.h"
#include "engine/text/prefix_space.h"
#include "engine/text/sentence_piece_parts.h"
#include "engine/text/tokenizer.h"
#include "engine/text/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace attn {
namespace {

using nlohmann::json;
using Kind = TokenizerFiles::Kind;
using Token = AddedTokens::Token;
namespace fs = std::filesystem;

SentencePieceFile readPieces(const fs::path& path) {
    return SentencePieceFile::read(readTextFile(path, kMostJsonBytes), path.string());
}

json addedTokenJson(const Token& token) {
    return {{"content", token.content},    {"single_word", token.singleWord},  {"lstrip", token.stripsLeft},
            {"rstrip", token.stripsRight}, {"normalized", token.isNormalized}, {"special", token.isSpecial}};
}

// ---------------------------------------------------------------- what the small files change in a tokenizer.json

/// Adds the tokens of the small files. If tokenizer.json has the same token, their options replace its options.
void addTokens(json& document, const TokenizerFiles& files) {
    if (files.added().empty() && files.special().empty()) return;
    json& list = document["added_tokens"];
    if (list.is_null()) list = json::array();
    if (!list.is_array()) return; // the reader of the list reports this
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < list.size(); ++i)
        if (list[i].is_object() && list[i].contains("content") && list[i]["content"].is_string())
            places.emplace(list[i]["content"].get<std::string>(), i);
    for (const Token& token : files.added()) {
        if (const auto place = places.find(token.content); place != places.end()) {
            list[place->second].update(addedTokenJson(token));
        } else {
            places.emplace(token.content, list.size());
            list.push_back(addedTokenJson(token));
        }
    }
    for (const Token& token : files.special())
        if (places.emplace(token.content, list.size()).second) list.push_back(addedTokenJson(token));
}

/// Sets three fields of the normalizer as BERT's classes do: from tokenizer_config.json, or to the defaults of the
/// classes.
void followBertClass(json& document, const TokenizerFiles& files) {
    const auto normalizer = document.find("normalizer");
    if (normalizer == document.end() || !normalizer->is_object() ||
        normalizer->value("type", json()) != "BertNormalizer")
        return;
    const JsonNode config = files.config();
    (*normalizer)["lowercase"] = config.flag("do_lower_case", true);
    (*normalizer)["handle_chinese_chars"] = config.flag("tokenize_chinese_chars", true);
    (*normalizer)["strip_accents"] =
        config.find("strip_accents") ? json(config.flag("strip_accents", false)) : json(nullptr);
}

/// What the small files change in a tokenizer.json besides the tokens around a text.
/// @param warnings gets sentences about what they say and the class does not obey
void followFiles(json& document, const TokenizerFiles& files, Kind kind, std::vector<std::string>& warnings) {
    if (!document.is_object()) return; // the reader of the document reports this
    addTokens(document, files);
    if (kind == Kind::Bert) followBertClass(document, files);
    followPrefixSpace(document, files, warnings);
}

// ---------------------------------------------------------------- tokens around a text

struct Ends {
    std::string_view className;
    bool begins; ///< whether a text gets the first token if no file decides
    std::string begin, end;
};

/// The classes that put their own tokens around a text, whatever tokenizer.json contains.
/// @source transformers 4, tokenization_llama_fast.py and similar files, update_post_processor
const std::array<Ends, 5>& endsOfClasses() {
    static const std::array<Ends, 5> kEnds{{{"LlamaTokenizer", true, "<s>", "</s>"},
                                            {"CodeLlamaTokenizer", true, "<s>", "</s>"},
                                            {"GemmaTokenizer", true, "<bos>", "<eos>"},
                                            {"CohereTokenizer", true, "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"},
                                            {"GPTNeoXTokenizer", false, "<|endoftext|>", "<|endoftext|>"}}};
    return kEnds;
}

SpecialTemplate around(std::optional<int> begin, std::optional<int> end) {
    SpecialTemplate result{.single = {}, .pair = {}};
    for (const int text : {0, 1}) {
        if (begin) result.pair.push_back({.token = begin, .type = text});
        result.pair.push_back({.token = {}, .text = text, .type = text});
        if (end) result.pair.push_back({.token = end, .type = text});
    }
    if (begin) result.single.push_back({.token = begin});
    result.single.push_back({});
    if (end) result.single.push_back({.token = end});
    return result;
}

/// Applies add_bos_token and add_eos_token. @param obeys whether the folder's class uses them
/// @return whether they decide the tokens around a text
bool followEnds(TokenizerParts& parts, const TokenizerFiles& files, bool obeys) {
    const JsonNode config = files.config();
    const bool isStated = config.find("add_bos_token") || config.find("add_eos_token");
    const auto ends = std::ranges::find(endsOfClasses(), files.className(), &Ends::className);
    const bool hasClass = ends != endsOfClasses().end();
    if (!obeys) {
        for (const char* field : {"add_bos_token", "add_eos_token"})
            if (config.flag(field, false))
                parts.warnings.push_back(fmt::format(
                    "tokenizer_config.json asks for \"{}\", which {} does not obey: the tokens around a "
                    "text are those of {}",
                    field, files.className().empty() ? "its class" : printable(files.className()), parts.file));
        return false;
    }
    if (!isStated && !hasClass) return false;
    const auto token = [&](const char* flag, const char* field, bool isUsual, const std::string& usual) {
        if (!config.flag(flag, isUsual)) return std::optional<int>();
        const auto id = parts.idOf(files.textOf(field, usual));
        if (!id && config.find(flag))
            parts.warnings.push_back(fmt::format("tokenizer_config.json asks for \"{}\", but there is no token {}",
                                                 flag, inQuotes(files.textOf(field, usual))));
        return id;
    };
    parts.specials =
        around(token("add_bos_token", "bos_token", hasClass && ends->begins, hasClass ? ends->begin : "<|endoftext|>"),
               token("add_eos_token", "eos_token", false, hasClass ? ends->end : "<|endoftext|>"));
    return true;
}

/// The template as tokenizer.json writes it.
json templateJson(const TokenizerParts& parts) {
    std::map<int, std::string> texts;
    for (const auto& [text, id] : parts.model->vocabulary()) texts.emplace(id, text);
    for (const Token& token : parts.added.tokens()) texts.insert_or_assign(token.id, token.content);
    json specials = json::object();
    const auto piecesOf = [&](const std::vector<SpecialTemplate::Piece>& pieces) {
        json result = json::array();
        for (const SpecialTemplate::Piece& piece : pieces) {
            if (!piece.token) {
                result.push_back({{"Sequence", {{"id", piece.text == 0 ? "A" : "B"}, {"type_id", piece.type}}}});
                continue;
            }
            const std::string& text = texts.at(*piece.token);
            specials[text] = {{"id", text}, {"ids", json::array({*piece.token})}, {"tokens", json::array({text})}};
            result.push_back({{"SpecialToken", {{"id", text}, {"type_id", piece.type}}}});
        }
        return result;
    };
    json result{{"type", "TemplateProcessing"},
                {"single", piecesOf(parts.specials.single)},
                {"pair", piecesOf(parts.specials.pair)}};
    result["special_tokens"] = std::move(specials);
    return result;
}

/// Notes where tokens stand, for messages. @param main the file with the vocabulary
void nameFiles(TokenizerParts& parts, const fs::path& main, const TokenizerFiles& files) {
    parts.file = main.filename().string();
    parts.filesOfAdded = files.sources();
}

void nameRoles(TokenizerParts& parts, const TokenizerFiles& files) {
    for (const auto& [field, role] :
         {std::pair{"bos_token", &parts.begin}, {"eos_token", &parts.end}, {"mask_token", &parts.mask}})
        if (const auto token = files.named(field)) *role = parts.idOf(token->content);
    parts.cleansUp = files.config().flag("clean_up_tokenization_spaces", false);
    if (files.config().flag("split_special_tokens", false)) parts.added.splitSpecial();
}

// ---------------------------------------------------------------- folders without tokenizer.json

/// @source Qwen2Tokenizer of transformers
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// A tokenizer.json made from vocab.json and merges.txt of a byte-level vocabulary.
json byteLevelJson(const fs::path& folder, const TokenizerFiles& files, Kind kind) {
    const std::string vocabularyFile = (folder / "vocab.json").string();
    json vocabulary = readJsonFile(vocabularyFile);
    if (!vocabulary.is_object())
        throw Error({.what = "the file is no list of tokens with their ids",
                     .where = vocabularyFile,
                     .hint = "copy the file again, it is damaged"});
    json merges = json::array();
    std::string text = readTextFile(folder / "merges.txt", kMostJsonBytes);
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty() && !line.starts_with("#version")) merges.push_back(std::move(line));
        at = end + 1;
    }
    const std::string end = kind == Kind::Roberta ? "</s>" : "<|endoftext|>",
                      unknown = files.textOf("unk_token", kind == Kind::Roberta ? "<unk>" : end);
    json added = json::array();
    std::vector<std::string> own{files.textOf("bos_token", kind == Kind::Roberta ? "<s>" : end),
                                 files.textOf("eos_token", end), unknown};
    if (kind == Kind::Roberta)
        for (const auto& [field, usual] :
             {std::pair{"pad_token", "<pad>"}, {"cls_token", "<s>"}, {"sep_token", "</s>"}})
            own.push_back(files.textOf(field, usual));
    for (const std::string& token : own)
        if (vocabulary.contains(token) &&
            std::ranges::count(added, token, [](const json& each) { return each["content"].get<std::string>(); }) == 0)
            added.push_back(addedTokenJson({.content = token, .isSpecial = true}));
    if (kind == Kind::Roberta && !files.named("mask_token") && vocabulary.contains("<mask>"))
        added.push_back(addedTokenJson({.content = "<mask>", .stripsLeft = true, .isSpecial = true}));
    const json byteLevel{{"type", "ByteLevel"},
                         {"add_prefix_space", files.config().flag("add_prefix_space", false)},
                         {"trim_offsets", true},
                         {"use_regex", kind != Kind::Qwen2}};
    json document{{"version", "1.0"},
                  {"added_tokens", added},
                  {"normalizer", nullptr},
                  {"pre_tokenizer", byteLevel},
                  {"post_processor", nullptr},
                  {"decoder", {{"type", "ByteLevel"}}},
                  {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
    if (vocabulary.contains(unknown) && kind != Kind::ByteLevel) document["model"]["unk_token"] = unknown;
    if (kind == Kind::Qwen2) {
        document["normalizer"] = {{"type", "NFC"}};
        document["pre_tokenizer"] = {
            {"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "Split"}, {"pattern", {{"Regex", kQwen2}}}, {"behavior", "Isolated"}, {"invert", false}},
              byteLevel}}};
    }
    const std::string cls = files.textOf("cls_token", "<s>"), separator = files.textOf("sep_token", "</s>");
    if (kind == Kind::Roberta) {
        for (const std::string& token : {cls, separator})
            if (!vocabulary.contains(token))
                throw Error({.what = fmt::format("{} is missing among the tokens", inQuotes(token)),
                             .where = vocabularyFile,
                             .hint = "copy the file again, or use the model's tokenizer.json"});
        document["post_processor"] = {{"type", "RobertaProcessing"},
                                      {"sep", {separator, vocabulary[separator]}},
                                      {"cls", {cls, vocabulary[cls]}}};
    }
    return document;
}

/// The number of T5's sentinels in tokenizer_config.json.
std::optional<size_t> sentinelsIn(const JsonNode& config) {
    constexpr size_t kMost = 10'000;
    const auto count = config.find("extra_ids");
    if (!count) return std::nullopt;
    const size_t sentinels = config.size("extra_ids", 0);
    if (sentinels > kMost) count->fail(fmt::format("is {}; at most {} are supported", sentinels, kMost));
    return sentinels;
}

/// Adds the tokens of the small files to the parts of a SentencePiece model, with the ids that the files give.
void addTokens(TokenizerParts& parts, const TokenizerFiles& files) {
    std::vector<Token> tokens = parts.added.tokens();
    std::map<std::string, size_t> places;
    size_t bytes = 0;
    for (size_t i = 0; i < tokens.size(); ++i) places.emplace(tokens[i].content, i);
    const auto put = [&](Token token) {
        if (token.content.size() > AddedTokens::kLongest)
            throw Error({.what = fmt::format("the files add a token of {} bytes; at most {} are supported",
                                             token.content.size(), AddedTokens::kLongest),
                         .where = files.configFile(),
                         .hint = "copy the files again, or enter token ids"});
        if ((bytes += token.content.size()) > AddedTokens::kMostBytes)
            throw Error({.what = fmt::format("the files add more than {} bytes of tokens", AddedTokens::kMostBytes),
                         .where = files.configFile(),
                         .hint = "copy the files again, or enter token ids"});
        token.isNormalized = false;
        const auto [place, isNew] = places.emplace(token.content, tokens.size());
        if (isNew) return tokens.push_back(std::move(token));
        token.isSpecial = token.isSpecial || tokens[place->second].isSpecial;
        tokens[place->second] = std::move(token);
    };
    for (const Token& token : files.added()) put(token);
    parts.added = AddedTokens(tokens);
    int next = parts.nextId();
    for (Token token : files.special()) {
        if (places.contains(token.content)) continue;
        token.id = parts.model->idOf(token.content).value_or(next);
        next = std::max(next, token.id + 1);
        put(std::move(token));
    }
    parts.added = AddedTokens(std::move(tokens));
}

/// @param warnings gets sentences about what the files say and the class does not obey
TokenizerParts piecesParts(const fs::path& file, const TokenizerFiles& files, Kind kind,
                           std::vector<std::string>& warnings) {
    const JsonNode config = files.config();
    const std::string name = file.string();
    const auto refuse = [&](const std::string& what) {
        throw Error({.what = what, .where = name, .hint = "put the model's tokenizer.json into its folder"});
    };
    SentencePieceFile pieces = readPieces(file);
    if (kind == Kind::T5 || kind == Kind::Llama) {
        pieces.addsPrefix = config.flag("add_prefix_space", pieces.addsPrefix);
        pieces.prefixesOnlyFirst = !config.flag("legacy", true);
    } else if (const std::string warning = prefixSpaceWarning(files, pieces.addsPrefix, file.filename().string());
               !warning.empty()) {
        warnings.push_back(warning);
    }
    TokenizerParts parts = [&] {
        switch (kind) {
        case Kind::T5:
            return t5Parts(pieces, name, sentinelsIn(config));
        case Kind::XlmRoberta:
            return xlmRobertaParts(pieces, name);
        case Kind::Camembert:
            return camembertParts(pieces, name);
        case Kind::Xlnet:
        case Kind::Albert:
            return cleanedParts(pieces, name,
                                {.lowercases = config.flag("do_lower_case", kind == Kind::Albert),
                                 .keepsAccents = config.flag("keep_accents", false),
                                 .first = kind == Kind::Albert ? files.textOf("cls_token", "[CLS]") : "",
                                 .separator = files.textOf("sep_token", kind == Kind::Albert ? "[SEP]" : "<sep>"),
                                 .last = kind == Kind::Albert ? "" : files.textOf("cls_token", "<cls>")});
        case Kind::Llama:
            return llamaParts(pieces, name);
        case Kind::None:
            refuse("this SentencePiece model may belong to tokenizers of several kinds, and neither config.json's "
                   "model_type nor tokenizer_config.json's tokenizer_class says to which");
            break;
        default:
            refuse(fmt::format("a SentencePiece model for {} is not supported", printable(files.className())));
        }
        return llamaParts(pieces, name);
    }();
    addTokens(parts, files);
    return parts;
}

} // namespace

std::optional<Tokenizer> Tokenizer::ofFolder(const fs::path& folder) {
    const TokenizerFiles files(folder);
    const bool hasJson = isInFolder(folder / "tokenizer.json");
    const Kind kind = files.kind(hasJson);
    std::vector<std::string> warnings = files.warnings();
    const auto finished = [&](TokenizerParts parts, const fs::path& main, bool obeysEnds) {
        parts.warnings = std::move(warnings);
        nameFiles(parts, main, files);
        followEnds(parts, files, obeysEnds);
        nameRoles(parts, files);
        return Tokenizer(std::move(parts));
    };
    const auto refuseUnknown = [&](const fs::path& file) {
        if (kind != Kind::Unknown) return;
        throw Error({.what = fmt::format("a tokenizer of the class {} is not supported without tokenizer.json",
                                         printable(files.className())),
                     .where = file.string(),
                     .hint = "put the model's tokenizer.json into its folder, or enter token ids"});
    };
    if (hasJson) {
        const std::string name = (folder / "tokenizer.json").string();
        json document = readJsonFile(name, warnings);
        followFiles(document, files, kind, warnings);
        return finished(TokenizerParts::parse(document, name), name, kind == Kind::Llama);
    }
    const fs::path vocabulary = folder / "vocab.txt", words = folder / "vocab.json";
    if (isInFolder(vocabulary) && (kind == Kind::Bert || kind == Kind::None)) {
        const std::string name = vocabulary.string();
        json document = parseJson(bertTokenizerJson(readTextFile(vocabulary, kMostJsonBytes), files), name);
        addTokens(document, files);
        return finished(TokenizerParts::parse(document, name), vocabulary, false);
    }
    for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"})
        if (isInFolder(folder / name)) {
            refuseUnknown(folder / name);
            return finished(piecesParts(folder / name, files, kind, warnings), name, kind == Kind::Llama);
        }
    if (isInFolder(words) && isInFolder(folder / "merges.txt")) {
        refuseUnknown(words);
        json document = byteLevelJson(folder, files, kind);
        addTokens(document, files);
        return finished(TokenizerParts::parse(document, words.string()), words,
                        kind == Kind::Llama || kind == Kind::ByteLevel);
    }
    if (isInFolder(vocabulary)) {
        refuseUnknown(vocabulary);
        throw Error({.what = fmt::format("a list of words is not enough for a tokenizer of the class {}",
                                         printable(files.className())),
                     .where = vocabulary.string(),
                     .hint = "put the model's tokenizer.json into its folder, or enter token ids"});
    }
    return std::nullopt;
}

std::string wholeTokenizerJson(const fs::path& folder) {
    const TokenizerFiles files(folder);
    const Kind kind = files.kind(true);
    const fs::path path = folder / "tokenizer.json";
    const std::string name = path.string();
    std::vector<std::string> ignored; // opening the model reports these warnings
    const json before = readJsonFile(name, ignored);
    json document = before;
    followFiles(document, files, kind, ignored);
    TokenizerParts parts = TokenizerParts::parse(document, name);
    if (followEnds(parts, files, kind == Kind::Llama)) document["post_processor"] = templateJson(parts);
    if (document == before) return readTextFile(path, kMostJsonBytes);
    StringMap<int> ids;
    for (const AddedTokens::Token& each : parts.added.tokens()) ids.emplace(each.content, each.id);
    for (json& token : document["added_tokens"]) { // other programs ask for the ids
        if (token.contains("id")) continue;
        const auto content = token["content"].get<std::string>();
        if (const auto added = ids.find(content); added != ids.end())
            token["id"] = added->second;
        else if (const auto id = parts.model->idOf(content))
            token["id"] = *id;
    }
    return document.dump();
}

std::optional<TranslationTokenizers> Tokenizer::ofTranslationFolder(const fs::path& folder) {
    const fs::path vocabulary = folder / "vocab.json", source = folder / "source.spm", target = folder / "target.spm";
    if (!isInFolder(vocabulary) || !isInFolder(source) || !isInFolder(target)) return std::nullopt;
    const TokenizerFiles files(folder);
    const fs::path separate = folder / "target_vocab.json";
    const bool isSeparate = files.config().flag("separate_vocabs", isInFolder(separate));
    if (isSeparate && !isInFolder(separate))
        throw Error({.what = "target_vocab.json is missing, although tokenizer_config.json says that the model writes "
                             "with a vocabulary of its own (\"separate_vocabs\")",
                     .where = folder.string(),
                     .hint = "copy target_vocab.json into the folder, or enter token ids"});
    const auto tokenizerOf = [&](const fs::path& pieces, const fs::path& list, std::vector<std::string> warnings) {
        const json document = readJsonFile(list);
        const std::string name = list.string();
        StringMap<int> ids;
        for (const auto& [token, id] : JsonNode(document, name).vocabulary(TokenModel::kMostTokens))
            ids.emplace(token, id);
        TokenizerParts parts = marianParts(readPieces(pieces), pieces.string(), ids, name);
        parts.warnings = std::move(warnings);
        nameFiles(parts, list, files);
        addTokens(parts, files);
        nameRoles(parts, files);
        return Tokenizer(std::move(parts));
    };
    return TranslationTokenizers{tokenizerOf(source, vocabulary, {}),
                                 tokenizerOf(target, isSeparate ? separate : vocabulary, files.warnings())};
}

} // namespace attn
