#pragma once

#include "engine/core/error.h"
#include "engine/text/encoding.h"
#include "engine/text/tokenizer.h"
#include "tests/support/catch.h"

namespace attn::test {

/// What Hugging Face's library makes of the golden texts with one tokenizer.
struct TextGolden {
    struct Text {
        std::string text;
        std::vector<int> ids;
        std::string decoded, decodedWhole; ///< without and with special tokens
        std::vector<ByteRange> ranges{};   ///< only in word_pieces.json
    };
    struct Pair {
        std::string first, second;
        std::vector<int> ids, types;
    };
    std::string name, tokenizer; ///< the tokenizer is JSON
    std::vector<Text> texts;
    std::vector<std::pair<std::vector<int>, std::string>> shuffled; ///< ids in no order, and their text
    std::vector<Pair> pairs{};                                      ///< none in goldens.json
    std::string vocabulary{}, config{}; ///< vocab.txt and tokenizer_config.json with the same meaning, or empty
};

/// tests/golden/text/goldens.json, word_pieces.json, unigrams.json, parts.json
const std::vector<TextGolden>& textGoldens();
/// tests/golden/text/sentence_pieces/expected.json: the texts with SentencePiece's own ids in one of its folders.
/// `decoded` is empty where the two need not agree.
std::vector<TextGolden::Text> sentencePieceGoldens(const std::string& name);
const TextGolden& goldenCase(const std::string& name);
/// The tokenizer.json of a golden case with one part of it, such as "decoder", replaced by other JSON.
std::string goldenTokenizerWith(const std::string& name, const std::string& part, const std::string& json);

/// Whether the action throws an Error whose sentence has this part.
template <class Action> bool refuses(const Action& action, const std::string& part) {
    try {
        action();
    } catch (const Error& error) {
        return std::string(error.what()).find(part) != std::string::npos;
    }
    return false;
}

} // namespace attn::test
