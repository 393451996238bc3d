#pragma once

#include "engine/text/pattern.h"
#include "engine/text/text_budget.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace attn {

class JsonNode;

/// Spaces that some decoders take away before punctuation and in English contractions, in this order.
/// @source transformers 4, tokenization_utils_base.py, clean_up_tokenization
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kSpareSpaces{{{" .", "."},
                                                                                             {" ?", "?"},
                                                                                             {" !", "!"},
                                                                                             {" ,", ","},
                                                                                             {" ' ", "'"},
                                                                                             {" n't", "n't"},
                                                                                             {" 'm", "'m"},
                                                                                             {" 's", "'s"},
                                                                                             {" 've", "'ve"},
                                                                                             {" 're", "'re"}}};

/// Turns tokens back into text: tokenizer.json's "decoder", a chain of steps, each of which receives and produces
/// pieces of text.
class TokenDecoder {
public:
    enum class Mode {
        Whole,    ///< the text of a finished list of tokens, as Hugging Face's library gives it
        Stream,   ///< like Whole, but every complete character comes out at once
        OnePiece, ///< the text of one token regardless of its place: nothing stripped, bytes unchecked
    };

    /// Without a decoder in the file: the tokens unchanged, joined by `separator`.
    explicit TokenDecoder(std::string separator) : separator_(std::move(separator)) {}
    /// Reads a decoder. @throws Error naming a kind that is not supported
    static TokenDecoder parse(const JsonNode& node);
    /// SentencePiece's: U+2581 becomes a space. @param dropsFirst removes the space that encoding prepended
    /// @param hasBytes tokens such as "<0xE4>" become their bytes
    static TokenDecoder sentencePiece(bool dropsFirst, bool hasBytes);
    /// The same decoder for texts whose spaces at the beginning count: it removes at most one of them.
    static TokenDecoder sentencePieceExact(bool dropsFirst, bool hasBytes);

    /// Runs the chain on one list of tokens.
    class Run {
    public:
        /// @param decoder must outlive the run
        Run(const TokenDecoder& decoder, Mode mode) : decoder_(&decoder), mode_(mode), states_(decoder.steps_.size()) {}
        /// @throws Error if the decoder makes the text too long or costs too much
        void push(std::string_view token) {
            budget_.addText(token.size());
            feed(0, std::string(token));
        }
        /// Ends the list: text that was waiting for more tokens comes out.
        void finish();
        /// The text that has come out since the last call.
        std::string take();

    private:
        struct State {
            std::string held; ///< text that waits for more
            size_t pieces = 0;
            size_t stripped = 0;
        };
        void feed(size_t step, std::string piece);
        void feedBytes(size_t step, std::string_view bytes);
        void endBytes(size_t step);
        void feedStrip(size_t step, std::string piece);
        void feedWordPiece(size_t step, std::string piece);
        void feedCtc(size_t step, std::string piece);
        std::string cleanedUp(std::string piece);

        std::string replaceAll(const std::string& text, const Pattern& pattern, std::string_view content);

        const TokenDecoder* decoder_;
        Mode mode_;
        std::vector<State> states_;
        std::string out_;
        size_t pieces_ = 0;
        TextBudget budget_{0};
    };

private:
    struct Replace {
        Pattern pattern;
        std::string content;
    };
    struct ByteFallback {};
    struct Fuse {};
    struct ByteLevel {};
    struct Strip {
        std::string content;
        size_t start, stop;
        bool isFused; ///< everything before this step is one piece
    };
    struct Metaspace {
        std::string replacement;
        bool dropsFirst; ///< removes the space that encoding prepended
        bool isFused;
    };
    struct WordPiece {
        std::string prefix; ///< of tokens that continue a word; a space precedes all others
        bool cleansUp;      ///< removes spaces before punctuation and in English contractions
    };
    struct WordEnds {
        std::string suffix; ///< marks tokens that end a word; becomes a space, but not at the end of the text
    };
    struct Ctc { ///< of speech: a token that repeats is one token
        std::string padding, delimiter;
        bool cleansUp;
    };
    using Step = std::variant<Replace, ByteFallback, Fuse, ByteLevel, Strip, Metaspace, WordPiece, WordEnds, Ctc>;

    void add(const JsonNode& node, int depth);

    std::vector<Step> steps_;
    bool isFused_ = false; ///< after the steps so far everything is one piece
    std::string separator_;
};

} // namespace attn
