#pragma once

#include "engine/text/aligned_text.h"

namespace attn {

/// NFD decomposes characters canonically, NFKD also those that only look otherwise, such as ligatures; NFC and NFKC
/// then compose them again. All leave characters that are newer than Unicode 9 as they are, as Hugging Face's library
/// does.
/// @source Unicode Standard Annex 15
enum class NormalizationForm { Nfc, Nfd, Nfkc, Nfkd };

/// Brings a text into a normalization form.
AlignedText normalize(const AlignedText& text, NormalizationForm form);

} // namespace attn
