#pragma once

#include "engine/text/aligned_text.h"

#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// Replaces each byte by GPT-2's printable character for it (a space becomes U+0120). Byte-level vocabularies are
/// written in these characters.
/// @source Radford et al. 2019, encoder.py, bytes_to_unicode
AlignedText toByteAlphabet(const AlignedText& text);

/// The bytes that a token stands for. @return none if one of its characters is not in the alphabet
std::optional<std::string> fromByteAlphabet(std::string_view token);

} // namespace attn
