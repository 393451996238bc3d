#pragma once

#include "engine/inference/given.h"
#include "engine/inference/input.h"
#include "engine/text/tokenizer.h"

#include <string>
#include <vector>

namespace attn {

/// The text that a person gave, and what the model reads of it before any token is written.
struct Prompt {
    GivenText given{};         ///< of tokens, `text` is what they spell
    Encoding encoding{};       ///< no ranges and types: not known
    std::vector<int> source{}; ///< the tokens of the text, if an encoder reads it: the target then has one token
    std::string note{};        ///< for the person, on how the text was read; empty: none
};

/// The inputs of a model beside the tokens of a text.
inline TextInput sidesOf(const Prompt& prompt) {
    return {.types = prompt.encoding.types, .source = prompt.source, .parents = prompt.given.parents};
}

} // namespace attn
