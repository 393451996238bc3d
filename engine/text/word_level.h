#pragma once

#include "engine/text/token_model.h"

namespace attn {

/// A list of words: each word is a token, and a word that is not listed becomes the unknown token.
class WordLevel : public TokenModel {
public:
    /// @throws Error naming file and field if the model is damaged
    static WordLevel parse(const JsonNode& node);
    WordLevel(StringMap<int> vocabulary, std::string unknownToken);

    void encode(std::string_view word, std::vector<Token>& tokens) const override;
    std::string kind() const override { return "words"; }
    std::optional<int> unknownId() const override { return unknownId_; }

private:
    std::string unknownToken_;
    std::optional<int> unknownId_;
};

} // namespace attn
