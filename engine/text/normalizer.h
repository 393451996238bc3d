#pragma once

#include "engine/text/aligned_text.h"
#include "engine/text/bert_normalizer.h"
#include "engine/text/charsmap.h"
#include "engine/text/normalization_form.h"
#include "engine/text/pattern.h"
#include "engine/text/sentence_piece_normalizer.h"

#include <optional>
#include <variant>

namespace attn {

class JsonNode;
class TextBudget;

/// Changes text before it is split: tokenizer.json's "normalizer".
class Normalizer {
public:
    /// Changes nothing.
    Normalizer() = default;
    /// Reads a normalizer. @throws Error naming a kind that is not supported
    static Normalizer parse(const JsonNode& node);
    /// SentencePiece's own.
    explicit Normalizer(SentencePieceNormalizer step) { steps_.emplace_back(std::move(step)); }
    /// The steps of this one, and then those of another.
    Normalizer then(const Normalizer& other) const;

    /// @throws Error if the text exceeds the budget in length or cost
    AlignedText apply(AlignedText text, TextBudget& budget) const;

private:
    struct Prepend {
        std::string text;
    };
    struct Replace {
        Pattern pattern;
        std::string content;
    };
    struct Strip {
        bool left, right;
    };
    struct ByteLevel {};
    struct Characters { ///< a change of single characters
        AlignedText (*change)(const AlignedText& text, TextBudget& budget);
    };
    using Step = std::variant<Prepend, Replace, Strip, NormalizationForm, ByteLevel, Characters, BertNormalizer,
                              Charsmap, SentencePieceNormalizer>;

    void add(const JsonNode& node, int depth);
    std::vector<Step> steps_;
};

} // namespace attn
