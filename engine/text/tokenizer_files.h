#pragma once

#include "engine/text/added_tokens.h"
#include "engine/text/json_node.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// The settings of the small files beside a tokenizer: tokenizer_config.json, special_tokens_map.json and
/// added_tokens.json, in the order in which Hugging Face's transformers lets them win. The last two count only if
/// tokenizer_config.json has no "added_tokens_decoder", and then special_tokens_map.json goes before
/// tokenizer_config.json.
/// @source transformers 4, tokenization_utils_base.py, PreTrainedTokenizerBase._from_pretrained
class TokenizerFiles {
public:
    /// The kinds of tokenizers whose class overrides tokenizer.json, or which can be made without that file.
    enum class Kind {
        None,    ///< no class is named, or one that only reads tokenizer.json
        Unknown, ///< a class that this program does not know
        Bert,
        ByteLevel, ///< GPT-2's
        Roberta,   ///< as above, within <s> and </s>
        Qwen2,
        Llama, ///< and others that put a token for the beginning before a text
        T5,
        XlmRoberta,
        Camembert,
        Xlnet,
        Albert
    };

    /// @throws Error naming a file that cannot be read and its field
    explicit TokenizerFiles(const std::filesystem::path& folder);

    const std::string& configFile() const { return configFile_; }
    JsonNode config() const { return {config_, configFile_}; }
    /// The class of the tokenizer without "Fast": "LlamaTokenizer". Without one in a file, that of the model_type.
    const std::string& className() const { return className_; }
    /// The kind of the tokenizer class. A missing tokenizer_config.json acts as an empty one, as in transformers.
    /// Without tokenizer.json and without a class, model_type decides.
    Kind kind(bool hasTokenizerJson) const;

    /// The token that a field such as "bos_token" names. Its id is not set.
    std::optional<AddedTokens::Token> named(const std::string& field) const;
    /// Its text, or else the class's own. @param fallback of the class
    std::string textOf(const std::string& field, const std::string& fallback) const;
    /// Tokens with an id, in the order of their ids.
    const std::vector<AddedTokens::Token>& added() const { return added_; }
    /// Named tokens and other special ones, in the order in which a tokenizer that lacks them gets them.
    const std::vector<AddedTokens::Token>& special() const { return special_; }

    /// The name of the file that adds a token, by its text.
    const std::map<std::string, std::string>& sources() const { return sources_; }

    /// Keys that a file gives more than once, in sentences.
    const std::vector<std::string>& warnings() const { return warnings_; }

private:
    void readNamed(const JsonNode& from, const char* file);

    nlohmann::json config_ = nlohmann::json::object();
    std::vector<std::string> warnings_;
    std::string configFile_, className_, modelType_;
    std::map<std::string, std::string> sources_;
    std::map<std::string, AddedTokens::Token> named_;
    std::map<std::string, std::vector<AddedTokens::Token>> others_; ///< special ones without a meaning, by field
    std::vector<AddedTokens::Token> added_, special_;
};

} // namespace attn
