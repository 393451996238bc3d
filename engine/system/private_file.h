#pragma once

#include <filesystem>

namespace attn {

/// Makes a folder for what only this user may see, such as prompts: others can neither list nor enter it. An existing
/// one is closed to them. Where that is not allowed, it stays as it is.
void makePrivateFolder(const std::filesystem::path& folder);

/// The same for a file, empty if it did not exist. Whoever replaces it later keeps who may read it.
void makePrivateFile(const std::filesystem::path& path);

} // namespace attn
