#pragma once

#include <vector>

namespace attn {

class JsonNode;

/// The tokens put around every text: tokenizer.json's "post_processor".
struct SpecialTemplate {
    std::vector<int> before{}, after{};

    /// Reads a template. @throws Error naming a kind that is not supported or a token that is missing
    static SpecialTemplate parse(const JsonNode& node);
};

} // namespace attn
