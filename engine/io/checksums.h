#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string_view>

namespace attn {

// A folder that training writes holds checksums.sfv, with the CRC-32 of its other files:
//     config.json 1c291ca3
//     model.safetensors cbf43926
// Tools such as cksfv and rhash check it too. Folders of other programs and of version 0.2.0 have none.

/// The files of a model folder that are read when it is opened.
inline constexpr std::array<std::string_view, 4> kModelFiles{"config.json", "model.safetensors", "tokenizer.json",
                                                             "preprocessor_config.json"};

/// Writes checksums.sfv for those of the named files that exist. @throws Error if a file cannot be read or written
void writeChecksums(const std::filesystem::path& folder, std::span<const std::string_view> names);

/// Whether a folder has checksums.sfv, readable or not.
bool hasChecksums(const std::filesystem::path& folder);

/// Removes checksums.sfv, before files that it names are written again. @throws Error if that fails
void removeChecksums(const std::filesystem::path& folder);

/// Compares those of the named files that checksums.sfv names with their checksums. Does nothing if there is no
/// checksums.sfv.
/// @throws Error naming the file that is damaged or missing and the remedy; also if checksums.sfv names no file
void verifyChecksums(const std::filesystem::path& folder, std::span<const std::string_view> names);

} // namespace attn
