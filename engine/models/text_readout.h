#pragma once

#include <cstdint>

namespace attn {

/// What a model says: at each token of a text the token after it, or the token itself, which the input may hide;
/// nothing, as in an encoder without a head; one class for a text, or for two of them whether the second follows the
/// first; a class for each token; the first and the last token of an answer; or one class for a picture.
enum class TextReadout : uint8_t {
    NextToken,
    MaskedToken,
    None,
    TextClass,
    NextSentence,
    TokenClass,
    Span,
    PictureClass
};

/// Whether a readout names tokens of the vocabulary.
constexpr bool predictsTokens(TextReadout readout) {
    return readout == TextReadout::NextToken || readout == TextReadout::MaskedToken;
}
/// Whether a readout reads one row for a whole text.
constexpr bool readsOneRow(TextReadout readout) {
    return readout == TextReadout::TextClass || readout == TextReadout::NextSentence;
}

} // namespace attn
