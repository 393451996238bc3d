#include "engine/text/tokenizer_files.h"

#include "engine/io/input_file.h"
#include "engine/io/is_in_folder.h"
#include "engine/io/json_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>

namespace attn {
namespace {

using Kind = TokenizerFiles::Kind;
using Token = AddedTokens::Token;

constexpr const char* kConfigName = "tokenizer_config.json";
constexpr std::array<const char*, 7> kNamed{"bos_token", "eos_token", "unk_token", "sep_token",
                                            "pad_token", "cls_token", "mask_token"};

/// Special tokens without a meaning of their own. transformers 5 writes the last two, also with a name for each token.
constexpr std::array<const char*, 3> kOtherSpecial{"additional_special_tokens", "extra_special_tokens",
                                                   "model_specific_special_tokens"};

struct Entry {
    std::string_view name;
    Kind kind;
};
constexpr std::array kClasses{Entry{"PreTrainedTokenizer", Kind::None},
                              Entry{"TokenizersBackend", Kind::None},
                              Entry{"BertTokenizer", Kind::Bert},
                              Entry{"DistilBertTokenizer", Kind::Bert},
                              Entry{"ElectraTokenizer", Kind::Bert},
                              Entry{"MobileBertTokenizer", Kind::Bert},
                              Entry{"ConvBertTokenizer", Kind::Bert},
                              Entry{"SqueezeBertTokenizer", Kind::Bert},
                              Entry{"RetriBertTokenizer", Kind::Bert},
                              Entry{"LxmertTokenizer", Kind::Bert},
                              Entry{"LayoutLMTokenizer", Kind::Bert},
                              Entry{"GPT2Tokenizer", Kind::ByteLevel},
                              Entry{"CodeGenTokenizer", Kind::ByteLevel},
                              Entry{"RobertaTokenizer", Kind::Roberta},
                              Entry{"BartTokenizer", Kind::Roberta},
                              Entry{"LongformerTokenizer", Kind::Roberta},
                              Entry{"LEDTokenizer", Kind::Roberta},
                              Entry{"Qwen2Tokenizer", Kind::Qwen2},
                              Entry{"GPTNeoXTokenizer", Kind::Llama},
                              Entry{"LlamaTokenizer", Kind::Llama},
                              Entry{"CodeLlamaTokenizer", Kind::Llama},
                              Entry{"GemmaTokenizer", Kind::Llama},
                              Entry{"CohereTokenizer", Kind::Llama},
                              Entry{"T5Tokenizer", Kind::T5},
                              Entry{"MT5Tokenizer", Kind::T5},
                              Entry{"XLMRobertaTokenizer", Kind::XlmRoberta},
                              Entry{"CamembertTokenizer", Kind::Camembert},
                              Entry{"XLNetTokenizer", Kind::Xlnet},
                              Entry{"AlbertTokenizer", Kind::Albert}};

/// The class that transformers uses for each model_type.
constexpr std::array<std::pair<std::string_view, std::string_view>, 34> kModelTypes{
    {{"bert", "BertTokenizer"},
     {"distilbert", "DistilBertTokenizer"},
     {"electra", "ElectraTokenizer"},
     {"gpt2", "GPT2Tokenizer"},
     {"gpt_neo", "GPT2Tokenizer"},
     {"gpt_neox", "GPTNeoXTokenizer"},
     {"opt", "GPT2Tokenizer"},
     {"roberta", "RobertaTokenizer"},
     {"bart", "BartTokenizer"},
     {"xlm-roberta", "XLMRobertaTokenizer"},
     {"camembert", "CamembertTokenizer"},
     {"xlnet", "XLNetTokenizer"},
     {"albert", "AlbertTokenizer"},
     {"t5", "T5Tokenizer"},
     {"mt5", "MT5Tokenizer"},
     {"umt5", "T5Tokenizer"},
     {"llama", "LlamaTokenizer"},
     {"mistral", "LlamaTokenizer"},
     {"mixtral", "LlamaTokenizer"},
     {"gemma", "GemmaTokenizer"},
     {"gemma2", "GemmaTokenizer"},
     {"qwen2", "Qwen2Tokenizer"},
     {"qwen2_moe", "Qwen2Tokenizer"},
     {"qwen3", "Qwen2Tokenizer"},
     {"gptj", "GPT2Tokenizer"},
     {"gpt_bigcode", "GPT2Tokenizer"},
     {"codegen", "CodeGenTokenizer"},
     {"bloom", "BloomTokenizer"},
     {"mpt", "GPTNeoXTokenizer"},
     {"stablelm", "GPTNeoXTokenizer"},
     {"longformer", "LongformerTokenizer"},
     {"led", "LEDTokenizer"},
     {"deberta", "DebertaTokenizer"},
     {"marian", "MarianTokenizer"}}};

/// Fields of tokenizer_config.json that change tokens and that this program does not obey.
constexpr std::array<UnreadSettings::Known, 7> kNotObeyed{{{"fix_mistral_regex", "false"},
                                                           {"language", "null"},
                                                           {"normalization", "false"},
                                                           {"predict_timestamps", "false"},
                                                           {"src_lang", "null"},
                                                           {"task", "null"},
                                                           {"tgt_lang", "null"}}};

/// The others of which nothing is said here, as globs: those that this program reads, of which it says itself whether
/// they are in force; those that the fast tokenizers of transformers do not obey either; and those about padding,
/// cutting, chats, pictures and files.
constexpr std::array<std::string_view, 61> kSilent{"*_file",
                                                   "*_id",
                                                   "*_ids",
                                                   "*_token",
                                                   "*_tokens",
                                                   "_commit_hash",
                                                   "_name_or_path",
                                                   "add_prefix_space",
                                                   "added_tokens_decoder",
                                                   "auto_map",
                                                   "backend",
                                                   "cache_dir",
                                                   "chat_template*",
                                                   "clean_text",
                                                   "clean_up_tokenization_spaces",
                                                   "default_chat_template",
                                                   "device_map",
                                                   "do_basic_tokenize",
                                                   "do_lower_case",
                                                   "dtype",
                                                   "errors",
                                                   "extra_ids",
                                                   "from_slow",
                                                   "init_inputs",
                                                   "is_local",
                                                   "keep_accents",
                                                   "legacy",
                                                   "local_files_only",
                                                   "max_len*",
                                                   "model_input_names",
                                                   "model_max_length",
                                                   "model_type",
                                                   "name_or_path",
                                                   "never_split",
                                                   "pad_to_multiple_of",
                                                   "padding*",
                                                   "processor_class",
                                                   "remove_space",
                                                   "response_schema",
                                                   "return_*",
                                                   "revision",
                                                   "separate_vocabs",
                                                   "source_lang",
                                                   "sp_model_kwargs",
                                                   "stride",
                                                   "strip_accents",
                                                   "suffix_first",
                                                   "target_lang",
                                                   "tokenize_chinese_chars",
                                                   "tokenizer_*",
                                                   "torch_dtype",
                                                   "transformers_version",
                                                   "trim_offsets",
                                                   "truncation*",
                                                   "trust_remote_code",
                                                   "use_default_system_prompt",
                                                   "use_fast",
                                                   "verbose",
                                                   "vocab_size",
                                                   "vocab_type",
                                                   "wordpieces_prefix"};

std::string classOf(std::string_view modelType) {
    const auto found = std::ranges::find(kModelTypes, modelType, &std::pair<std::string_view, std::string_view>::first);
    return found == kModelTypes.end() ? std::string() : std::string(found->second);
}

Kind kindOf(std::string_view className) {
    if (className.empty()) return Kind::None;
    const auto found = std::ranges::find(kClasses, className, &Entry::name);
    return found == kClasses.end() ? Kind::Unknown : found->kind;
}

/// A token given as a text, or as an object with the text and how to find it.
Token tokenOf(const JsonNode& node, bool isSpecial) {
    if (node.isText()) {
        const std::string text = node.text();
        return {.content = text, .isNormalized = !isSpecial, .isSpecial = isSpecial, .decoded = text};
    }
    const std::string text = node.at("content").text();
    return {.content = text,
            .singleWord = node.flag("single_word", false),
            .stripsLeft = node.flag("lstrip", false),
            .stripsRight = node.flag("rstrip", false),
            .isNormalized = node.flag("normalized", !isSpecial),
            .isSpecial = isSpecial || node.flag("special", false),
            .decoded = text};
}

std::optional<nlohmann::json> readIfThere(const std::filesystem::path& file, std::vector<std::string>& warnings) {
    if (!isInFolder(file)) return std::nullopt;
    return readJsonFile(file, warnings);
}

/// Makes the list of its tokens of a field that also names them, in the order of the file, in which a tokenizer that
/// lacks them gets them.
void listNamedTokens(nlohmann::json& config, const std::filesystem::path& file, const char* field) {
    const auto tokens = config.find(field);
    if (tokens == config.end() || !tokens->is_object()) return;
    std::vector<std::string> names;
    bool isInside = false;
    const auto noteName = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
        if (event != nlohmann::json::parse_event_t::key || depth > 2) return true;
        if (depth == 1)
            isInside = parsed == field;
        else if (isInside)
            names.push_back(parsed.get<std::string>());
        return true;
    };
    auto named = nlohmann::json::parse(readTextFile(file, kMostJsonBytes), noteName).at(field);
    nlohmann::json list = nlohmann::json::array();
    for (const std::string& name : names)
        if (const auto token = named.find(name); token != named.end()) {
            list.push_back(std::move(*token));
            named.erase(token); // a name may stand twice
        }
    *tokens = std::move(list);
}

std::optional<nlohmann::json> readSmallFile(const std::filesystem::path& file, std::vector<std::string>& warnings) {
    std::optional<nlohmann::json> read = readIfThere(file, warnings);
    if (read && read->is_object())
        for (const char* field : kOtherSpecial) listNamedTokens(*read, file, field);
    return read;
}

int idFrom(const std::string& text, const JsonNode& node) {
    int id = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size() || id < 0 ||
        static_cast<size_t>(id) >= TokenModel::kMostTokens)
        node.fail("has a key that is no token id", "copy the file again, it is damaged");
    return id;
}

} // namespace

TokenizerFiles::TokenizerFiles(const std::filesystem::path& folder) : configFile_((folder / kConfigName).string()) {
    auto small = readSmallFile(configFile_, warnings_);
    // This program's own models follow their tokenizer.json, whatever family they have.
    std::error_code error;
    const bool isOwn = !small && std::filesystem::exists(folder / "recipe.json", error);
    if (small) config_ = std::move(*small);
    std::vector<std::string> ofModel; // ignored here: opening the model reports these warnings
    const auto model = readIfThere(folder / "config.json", ofModel);
    const std::string modelFile = (folder / "config.json").string();
    const JsonNode config(config_, configFile_);
    className_ = config.text("tokenizer_class", "");
    if (model && model->is_object()) {
        const JsonNode read(*model, modelFile);
        modelType_ = read.text("model_type", "");
        if (className_.empty()) className_ = read.text("tokenizer_class", "");
    }
    if (className_.ends_with("Fast")) className_.resize(className_.size() - 4);
    if (className_.empty() && !isOwn) className_ = classOf(modelType_);

    const UnreadSettings rule{.file = kConfigName, .known = kNotObeyed, .silent = kSilent};
    if (const std::string sentence = rule.sentenceOn(config_); !sentence.empty()) warnings_.push_back(sentence);
    readNamed(config, kConfigName);
    std::map<int, Token> added;
    std::set<std::string, std::less<>> special; // their texts
    if (const auto decoder = config.find("added_tokens_decoder")) {
        const nlohmann::json& tokens = config_.at("added_tokens_decoder");
        if (!tokens.is_object()) decoder->fail("is not an object", "copy the file again, it is damaged");
        for (const auto& [id, token] : tokens.items()) {
            Token each = tokenOf(decoder->at(id), false);
            each.id = idFrom(id, *decoder);
            sources_.emplace(each.content, kConfigName);
            added.insert_or_assign(each.id, std::move(each));
        }
    } else {
        const std::string mapFile = (folder / "special_tokens_map.json").string(),
                          addedFile = (folder / "added_tokens.json").string();
        if (const auto map = readSmallFile(mapFile, warnings_))
            readNamed(JsonNode(*map, mapFile), "special_tokens_map.json");
        for (const Token& token : special_) special.insert(token.content);
        if (const auto list = readIfThere(addedFile, warnings_))
            for (const auto& [text, id] : JsonNode(*list, addedFile).vocabulary(TokenModel::kMostTokens)) {
                const std::string content(text);
                const bool isSpecial = special.contains(content);
                sources_.emplace(content, "added_tokens.json");
                added.insert_or_assign(id, Token{.content = content,
                                                 .id = id,
                                                 .isNormalized = !isSpecial,
                                                 .isSpecial = isSpecial,
                                                 .decoded = content});
            }
    }
    for (const Token& token : special_) special.insert(token.content);
    for (auto& [id, token] : added) {
        token.isSpecial = token.isSpecial || special.contains(token.content);
        added_.push_back(token);
    }
}

void TokenizerFiles::readNamed(const JsonNode& from, const char* file) {
    for (const char* field : kNamed)
        if (const auto node = from.find(field)) named_.insert_or_assign(field, tokenOf(*node, true));
    for (const char* field : kOtherSpecial)
        if (const auto list = from.find(field)) {
            others_[field].clear();
            for (const JsonNode& node : list->items()) others_[field].push_back(tokenOf(node, true));
        }
    special_.clear();
    for (const char* field : kNamed)
        if (const auto found = named_.find(field); found != named_.end()) special_.push_back(found->second);
    for (const auto& [field, tokens] : others_) special_.insert(special_.end(), tokens.begin(), tokens.end());
    for (const Token& token : special_) sources_.emplace(token.content, file);
}

Kind TokenizerFiles::kind(bool hasTokenizerJson) const {
    const Kind kind = kindOf(className_);
    return kind == Kind::None && !hasTokenizerJson ? kindOf(classOf(modelType_)) : kind;
}

std::optional<Token> TokenizerFiles::named(const std::string& field) const {
    const auto found = named_.find(field);
    return found == named_.end() ? std::nullopt : std::optional(found->second);
}

std::string TokenizerFiles::textOf(const std::string& field, const std::string& fallback) const {
    const auto token = named(field);
    return token ? token->content : fallback;
}

} // namespace attn
