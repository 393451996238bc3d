#pragma once

#include "engine/data/parallel_text.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace attn {

// The catalogues with which programs speak other languages: each message with its translation, of plurals the first
// form. The header and translations that nobody has checked ("fuzzy") are left out. The pairs may have empty sides and
// bytes that are not UTF-8.

/// Reads a catalogue as translators write it (.po).
/// @param path for errors  @throws Error naming the line, also if the header names a charset other than UTF-8
/// @source GNU gettext manual, section "The Format of PO Files"
std::vector<TextPair> readPoCatalogue(std::string_view bytes, const std::filesystem::path& path);

/// Reads a catalogue as programs read it (.mo), in either byte order, but not texts of which a part depends on the
/// system, such as <PRIu64>.
/// @param path for errors  @throws Error naming the entry, also if the header names a charset other than UTF-8
/// @source GNU gettext manual, section "The Format of GNU MO Files"
std::vector<TextPair> readMoCatalogue(std::string_view bytes, const std::filesystem::path& path);

} // namespace attn
