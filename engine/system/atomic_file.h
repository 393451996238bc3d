#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace attn {

/// Writes a file completely or not at all: writes a temporary file beside it, flushes it to the disk and renames it.
/// Links are followed, and a file that is replaced keeps its permissions. Removes temporary files that processes which
/// were killed have left beside this one.
/// @throws Error naming the path and the reason. Devices, pipes and folders are refused
void writeAtomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void writeAtomically(const std::filesystem::path& path, const std::string& text);

/// The remedy for an error code of a call that writes; empty if none is known.
std::string remedyForWriting(int code);

} // namespace attn
