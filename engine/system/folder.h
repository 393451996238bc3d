#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace attn {

/// The paths of everything in a folder, in no order. What was found before an error is kept.
/// @param error why the folder could not be read to its end, or none
std::vector<std::filesystem::path> entriesOf(const std::filesystem::path& folder, std::error_code& error);

/// Creates a folder and those above it, unless it exists. @throws Error naming the folder, the reason and the remedy
void createFolder(const std::filesystem::path& folder);

/// Flushes the names in a folder to the disk, so that files which were renamed into it survive a power failure.
/// Does nothing where the file system cannot do it.
void syncFolder(const std::filesystem::path& folder);

} // namespace attn
