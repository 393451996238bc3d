#pragma once

#include "engine/text/added_tokens.h"
#include "engine/text/normalizer.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/special_template.h"
#include "engine/text/token_decoder.h"
#include "engine/text/token_model.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The parts of a tokenizer, in the order in which a text passes through them.
struct TokenizerParts {
    Normalizer normalizer{};
    PreTokenizer preTokenizer{};
    std::unique_ptr<const TokenModel> model;
    AddedTokens added{};
    SpecialTemplate specials{};
    TokenDecoder decoder;
    std::string kind{}; ///< for the summary; empty: that of the model
    // Tokens with a meaning of their own, where a file names them.
    std::optional<int> begin{}, end{}, mask{};
    bool cleansUp = false; ///< a decoded text loses the spaces before punctuation
    std::string file{};    ///< the name of the file with the vocabulary; empty: there is none
    std::map<std::string, std::string> filesOfAdded{}; ///< by token: the small file beside it that adds the token
    std::vector<std::string> warnings{};               ///< about what the files say and this tokenizer does not obey

    /// Reads the parts of a tokenizer.json. @param name of the file, for errors
    /// @throws Error naming the field and the remedy
    static TokenizerParts parse(const nlohmann::json& document, const std::string& name);

    /// The id of an added token or a token of the vocabulary.
    std::optional<int> idOf(std::string_view token) const;
    /// The first id behind all tokens.
    int nextId() const;
};

} // namespace attn
