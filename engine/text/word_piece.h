#pragma once

#include "engine/text/token_model.h"

namespace attn {

/// WordPiece: takes the longest token that begins a word, then the longest that continues it, and so on. A word with a
/// rest that no token begins becomes the unknown token as a whole.
/// @source Devlin et al. 2019, "BERT", arXiv:1810.04805, section 3; tokenization.py of its release
class WordPiece : public TokenModel {
public:
    struct Options {
        std::string unknownToken = "[UNK]";
        std::string continuingPrefix = "##"; ///< precedes every token of a word except its first
        size_t mostCharacters = 100;         ///< a longer word becomes the unknown token
    };

    /// @throws Error naming file and field if the model is damaged
    static WordPiece parse(const JsonNode& node);
    WordPiece(StringMap<int> vocabulary, Options options);

    void encode(std::string_view word, std::vector<Token>& tokens) const override;
    std::string kind() const override { return "WordPiece"; }
    std::optional<int> unknownId() const override { return unknownId_; }
    std::string continuingPrefix() const override { return options_.continuingPrefix; }

private:
    /// The longest token at a place of a word. @return its id and its end
    std::optional<Token> longestAt(std::string_view word, size_t begin) const;

    Options options_;
    std::optional<int> unknownId_;
    size_t longest_ = 0; ///< bytes of the longest token, prefix included
};

} // namespace attn
