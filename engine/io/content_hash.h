#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace attn {

/// The SHA-256 of some bytes, as 64 hexadecimal digits. @source NIST 2015, FIPS 180-4
std::string sha256(std::span<const std::byte> bytes);

/// The SHA-256 of a file, as `sha256sum` prints it. @throws Error if it cannot be read
std::string sha256OfFile(const std::filesystem::path& file);

/// A hash of the names and the contents of files, as 64 hexadecimal digits: the SHA-256 of what `sha256sum` prints for
/// them, in the order of their names. @throws Error if a file cannot be read
/// @param folder of all files: their names are their paths in it. Empty: they have no folders in their names
std::string contentHash(std::span<const std::filesystem::path> files, const std::filesystem::path& folder = {});

} // namespace attn
