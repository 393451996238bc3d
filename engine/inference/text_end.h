#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attn {

class LanguageModel;

/// Why a text that a model writes ends.
enum class TextEnd : uint8_t {
    EndToken,        ///< the model wrote a token that ends a text
    MaxTokens,       ///< it wrote as many tokens as it was asked for
    FolderLimit,     ///< the text is as long as the model's folder allows: GenerationRules::maxNewTokens or maxLength
    ContextFull,     ///< the model reads no more tokens
    PictureComplete, ///< the text is a picture, and has its last pixel
    Stopped          ///< a person stopped the model
};

/// A name for programs: "end-token".
std::string_view nameOf(TextEnd end);

/// How the last token of a text that a model writes ends it; none: the model may continue.
std::optional<TextEnd> endAtToken(const LanguageModel& model, std::span<const int> tokens);

/// The reason as a sentence. @param tokens the whole text  @param given how many of them were not written by the model
std::string sentenceOf(TextEnd end, const LanguageModel& model, std::span<const int> tokens, size_t given);

} // namespace attn
