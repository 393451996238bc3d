#pragma once

#include <optional>
#include <vector>

namespace attn {

class JsonNode;

/// The tokens put around a text or a pair of texts: tokenizer.json's "post_processor".
struct SpecialTemplate {
    /// A token, or the place of a text.
    struct Piece {
        std::optional<int> token; ///< none: a text stands here
        int text = 0;             ///< 0, or 1 for the second of a pair
        int type = 0;             ///< token type (segment) of the token, or of all tokens of the text
    };
    std::vector<Piece> single{{}};
    std::vector<Piece> pair{{}, {.token = {}, .text = 1, .type = 1}};

    /// Reads a template. @throws Error naming a kind that is not supported or a token that is missing
    static SpecialTemplate parse(const JsonNode& node);
};

} // namespace attn
