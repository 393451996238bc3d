#pragma once

#include "engine/text/aligned_text.h"
#include "engine/text/bpe.h"
#include "engine/text/normalizer.h"

#include <map>
#include <optional>

namespace attn {

/// Tokens that are cut out of a text before anything else is done to it: tokenizer.json's "added_tokens".
class AddedTokens {
public:
    struct Token {
        std::string content;
        int id = 0;
        bool singleWord = false;   ///< only where no letter or digit touches it
        bool stripsLeft = false;   ///< takes the white space before it
        bool stripsRight = false;  ///< takes the white space behind it
        bool isNormalized = false; ///< looked for in the normalized text, as its own normalized form
        bool isSpecial = false;    ///< left out when decoding
        std::string decoded{};     ///< what the decoder gets for it: its content, normalized if it is looked for so
    };
    /// A part of a text: an added token, or what lies between.
    struct Part {
        AlignedText text;
        std::optional<int> id;
    };

    AddedTokens() = default;
    /// Ids come from the vocabulary, else they follow it, as in Hugging Face's library (which ignores the file's ids).
    /// @throws Error naming file and field
    static AddedTokens parse(const JsonNode& node, const Bpe& bpe, const Normalizer& normalizer);

    /// Cuts a whole text, normalizing what lies between the tokens.
    std::vector<Part> split(std::string_view text, const Normalizer& normalizer) const;

    const std::vector<Token>& tokens() const { return tokens_; }

private:
    /// Finds the leftmost longest of several texts.
    class Finder {
    public:
        void add(std::string_view text, size_t token); ///< the first of two equal texts wins
        struct Match {
            size_t token, length;
        };
        std::optional<Match> longestAt(std::string_view text, size_t at) const;

    private:
        struct Node {
            std::map<char, size_t> children;
            std::optional<size_t> token;
        };
        std::vector<Node> nodes_{1};
    };

    void cut(const AlignedText& text, const Finder& finder, std::vector<Part>& parts) const;

    std::vector<Token> tokens_;
    Finder plain_, normalized_;
};

} // namespace attn
