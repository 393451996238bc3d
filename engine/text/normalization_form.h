#pragma once

#include "engine/text/aligned_text.h"

namespace attn {

/// NFD decomposes characters canonically; NFC then composes them again. Both use Unicode 9's data, as Hugging Face's
/// library does.
/// @source Unicode Standard Annex 15; Unicode 15, section 3.12 for Hangul
enum class NormalizationForm { Nfc, Nfd };

/// Brings a text into a normalization form.
AlignedText normalize(const AlignedText& text, NormalizationForm form);

} // namespace attn
