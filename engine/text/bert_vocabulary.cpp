#include "engine/text/bert_vocabulary.h"

#include "engine/text/tokenizer_files.h"

#include <nlohmann/json.hpp>

#include <array>

namespace attn {

using nlohmann::json;

std::string bertTokenizerJson(const std::vector<std::string>& tokens, const BertOptions& options) {
    json vocabulary = json::object(), added = json::array();
    for (size_t id = 0; id < tokens.size(); ++id) vocabulary[tokens[id]] = id;
    for (const std::string& token : {options.padding, options.unknown, options.first, options.separator, options.mask})
        if (const auto id = vocabulary.find(token); id != vocabulary.end())
            added.push_back({{"id", *id},
                             {"content", token},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", false},
                             {"normalized", false},
                             {"special", true}});
    json document{{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", added},
                  {"normalizer",
                   {{"type", "BertNormalizer"},
                    {"clean_text", true},
                    {"handle_chinese_chars", options.separatesIdeographs},
                    {"strip_accents", nullptr},
                    {"lowercase", options.lowercases}}},
                  {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                  {"post_processor", nullptr},
                  {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                  {"model",
                   {{"type", "WordPiece"},
                    {"unk_token", options.unknown},
                    {"continuing_subword_prefix", "##"},
                    {"max_input_chars_per_word", 100},
                    {"vocab", vocabulary}}}};
    if (options.stripsAccents) document["normalizer"]["strip_accents"] = *options.stripsAccents;
    const bool hasBoth = vocabulary.contains(options.first) && vocabulary.contains(options.separator);
    if (hasBoth)
        document["post_processor"] = {{"type", "BertProcessing"},
                                      {"sep", {options.separator, vocabulary[options.separator]}},
                                      {"cls", {options.first, vocabulary[options.first]}}};
    return document.dump();
}

std::string bertTokenizerJson(std::string_view vocabulary, const TokenizerFiles& files) {
    const JsonNode config = files.config();
    BertOptions options{.lowercases = config.flag("do_lower_case", true),
                        .separatesIdeographs = config.flag("tokenize_chinese_chars", true)};
    if (config.find("strip_accents")) options.stripsAccents = config.flag("strip_accents", true);
    for (const auto& [field, token] : {std::pair{"unk_token", &options.unknown},
                                       {"sep_token", &options.separator},
                                       {"pad_token", &options.padding},
                                       {"cls_token", &options.first},
                                       {"mask_token", &options.mask}})
        *token = files.textOf(field, *token);
    std::vector<std::string> tokens;
    while (!vocabulary.empty()) {
        const size_t end = vocabulary.find('\n');
        std::string_view line = vocabulary.substr(0, end);
        vocabulary.remove_prefix(end == std::string_view::npos ? vocabulary.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        tokens.emplace_back(line);
    }
    return bertTokenizerJson(tokens, options);
}

} // namespace attn
