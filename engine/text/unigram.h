#pragma once

#include "engine/text/prefix_trie.h"
#include "engine/text/token_model.h"

#include <span>

namespace attn {

/// A unigram language model of pieces: of all ways to cut a word, takes the one whose pieces have the highest sum of
/// scores. A character that no piece covers becomes the unknown token, together with unknown neighbours.
/// @source Kudo 2018, "Subword Regularization", arXiv:1804.10959, section 3.2
class Unigram : public TokenModel {
public:
    struct Piece {
        std::string text;
        double score = 0;      ///< logarithm of its probability
        bool isMatched = true; ///< false: it never stands for text, as "</s>"
    };
    struct Options {
        std::optional<int> unknownId{}; ///< none: an unknown character is refused
        double unknownScore = 0;        ///< of each unknown character
        bool byteFallback = false;      ///< unknown characters become their bytes, "<0xE4>"
    };

    /// Reads a Unigram model. @param node tokenizer.json's "model"
    /// @throws Error naming file and field if it is damaged
    static Unigram parse(const JsonNode& node);
    /// @param vocabulary ids of pieces; a piece without an id becomes the unknown token
    /// @param pieces valid UTF-8; of two with the same text, the last is used
    /// @throws Error without a place if there are too many pieces or too long ones
    Unigram(StringMap<int> vocabulary, std::span<const Piece> pieces, Options options);

    /// The score of an unknown character, so low that every known piece is better.
    static double unknownScore(double leastScore) { return leastScore - 10; }

    /// Appends the tokens of one word, in linear time of its length.
    /// @throws Error for an unknown character without an unknown token
    void encode(std::string_view word, std::vector<Token>& tokens) const override;
    std::string kind() const override;
    std::optional<int> unknownId() const override { return options_.unknownId; }

private:
    /// Appends the tokens of a piece, or of unknown characters, from the last to the first.
    void addBackwards(std::string_view word, size_t begin, size_t end, std::vector<Token>& tokens) const;

    PrefixTrie trie_;
    std::vector<double> scores_;
    int unknownPiece_ = -1; ///< the piece of the unknown token, which fuses with unknown characters if a text spells it
    Options options_;
};

} // namespace attn
