#pragma once

#include "engine/text/aligned_text.h"
#include "engine/text/normalizer.h"
#include "engine/text/prefix_trie.h"
#include "engine/text/token_model.h"

#include <optional>

namespace attn {

/// Tokens that are cut out of a text before all other steps: tokenizer.json's "added_tokens".
class AddedTokens {
public:
    struct Token {
        std::string content;
        int id = 0;
        bool singleWord = false;   ///< matches only where no letter or digit touches it
        bool stripsLeft = false;   ///< removes the white space before it
        bool stripsRight = false;  ///< removes the white space after it
        bool isNormalized = false; ///< searched in the normalized text, in its normalized form
        bool isSpecial = false;    ///< may be skipped when decoding
        std::string decoded{};     ///< its text for the decoder: its content, normalized if isNormalized
    };
    /// A part of a text: an added token, or the text between two of them.
    struct Part {
        AlignedText text;
        std::optional<int> id;
    };

    /// The most bytes of all tokens: the trees that find them take twelve times as many.
    static constexpr size_t kLongest = 1024; ///< bytes of a token, with which a text is compared at every place
    static constexpr size_t kMostBytes = size_t{1} << 20;

    AddedTokens() = default;
    explicit AddedTokens(std::vector<Token> tokens);
    /// Reads the tokens. A token that the vocabulary lacks gets the next id after it, as in Hugging Face's library,
    /// which ignores the file's ids.
    /// @throws Error naming file and field
    static AddedTokens parse(const JsonNode& node, const TokenModel& model, const Normalizer& normalizer);

    /// Cuts a text at the added tokens and normalizes the parts between them, within the budget of the whole text.
    std::vector<Part> split(std::string_view text, const Normalizer& normalizer, TextBudget& budget) const;

    const std::vector<Token>& tokens() const { return tokens_; }
    /// Special tokens are cut like other text from now on.
    void splitSpecial();

private:
    void makeTrees(bool findsSpecial);
    void cut(const AlignedText& text, const PrefixTrie& finder, std::vector<Part>& parts) const;

    std::vector<Token> tokens_;
    PrefixTrie plain_, normalized_; ///< of the indices of tokens_
};

} // namespace attn
