#pragma once

#include "engine/text/aligned_text.h"

namespace attn {

/// Canonical decomposition; NFC composes again. Uses Unicode 9's data, as Hugging Face's library does.
/// @source Unicode Standard Annex 15; Unicode 15, section 3.12 for Hangul
enum class NormalizationForm { Nfc, Nfd };

AlignedText normalize(const AlignedText& text, NormalizationForm form);

} // namespace attn
