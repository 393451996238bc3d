#pragma once

#include "engine/text/aligned_text.h"
#include "engine/text/normalization_form.h"
#include "engine/text/pattern.h"

#include <optional>
#include <variant>

namespace attn {

class JsonNode;

/// What is done to text before it is split: tokenizer.json's "normalizer".
class Normalizer {
public:
    /// Changes nothing.
    Normalizer() = default;
    /// @throws Error naming a kind that is not supported
    static Normalizer parse(const JsonNode& node);

    AlignedText apply(AlignedText text) const;

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
    using Step = std::variant<Prepend, Replace, Strip, NormalizationForm, ByteLevel>;

    void add(const JsonNode& node, int depth);
    std::vector<Step> steps_;
};

} // namespace attn
