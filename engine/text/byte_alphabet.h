#pragma once

#include "engine/text/aligned_text.h"

#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// GPT-2's printable character for each byte (a space becomes U+0120), in which byte-level vocabularies are written.
/// @source Radford et al. 2019, encoder.py, bytes_to_unicode
AlignedText toByteAlphabet(const AlignedText& text);

/// The bytes that a token stands for; none if one of its characters is not in the alphabet.
std::optional<std::string> fromByteAlphabet(std::string_view token);

} // namespace attn
