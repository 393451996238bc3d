#pragma once

#include "engine/text/pattern.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attn {

class JsonNode;

/// Turns tokens back into text: tokenizer.json's "decoder", a chain of steps that each take and give pieces of text.
class TokenDecoder {
public:
    enum class Mode {
        Whole,    ///< the text of a finished list of tokens, as Hugging Face's library gives it
        Stream,   ///< as Whole, but every complete character leaves at once
        OnePiece, ///< what a single token stands for wherever it is: nothing stripped, bytes unchecked
    };

    /// Without a decoder: the tokens as they are, with `separator` between.
    explicit TokenDecoder(std::string separator) : separator_(std::move(separator)) {}
    /// @throws Error naming a kind that is not supported
    static TokenDecoder parse(const JsonNode& node);

    /// The chain at work on one list of tokens.
    class Run {
    public:
        /// @param decoder outlives the run
        Run(const TokenDecoder& decoder, Mode mode) : decoder_(&decoder), mode_(mode), states_(decoder.steps_.size()) {}
        void push(std::string_view token) { feed(0, std::string(token)); }
        void finish();
        /// What has come out since the last call.
        std::string take();

    private:
        struct State {
            std::string held; ///< waits for more
            size_t pieces = 0;
            size_t stripped = 0;
        };
        void feed(size_t step, std::string piece);
        void feedBytes(size_t step, std::string_view bytes);
        void endBytes(size_t step);
        void feedStrip(size_t step, std::string piece);

        const TokenDecoder* decoder_;
        Mode mode_;
        std::vector<State> states_;
        std::string out_;
        size_t pieces_ = 0;
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
        bool isFused; ///< all pieces before it are one
    };
    struct Metaspace {
        std::string replacement;
        bool dropsFirst; ///< the one that was prepended
        bool isFused;
    };
    using Step = std::variant<Replace, ByteFallback, Fuse, ByteLevel, Strip, Metaspace>;

    void add(const JsonNode& node, int depth);

    std::vector<Step> steps_;
    bool isFused_ = false; ///< after the steps so far everything is one piece
    std::string separator_;
};

} // namespace attn
