#pragma once

#include "engine/data/parallel_text.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Whether a file begins with the byte order mark of UTF-16.
bool isUtf16(std::string_view bytes);

/// Reads the units of a file in the Translation Memory eXchange format (.tmx) that have both languages. The texts of
/// tags inside a segment stay. The pairs may have empty sides and bytes that are not UTF-8.
/// @param bytes UTF-8, or UTF-16 with a byte order mark  @param path for errors
/// @param languages "en-de"; "en" also means its regions, such as "en-US"
/// @throws Error naming the file, if it is not XML, no TMX, or has no unit with both languages
/// @source LISA OSCAR, "TMX 1.4b Specification"
std::vector<TextPair> readTranslationMemory(std::string_view bytes, const std::filesystem::path& path,
                                            const std::string& languages);

} // namespace attn
