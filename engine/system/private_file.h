#pragma once

#include <filesystem>

namespace attn {

/// Makes a folder for what only this user may see, such as prompts: others can neither list nor enter it. An existing
/// one is closed to them. Where that is not allowed, it stays as it is.
void makePrivateFolder(const std::filesystem::path& folder);

/// Makes a file private, and creates an empty one if there is none. Writers that replace it keep its permissions.
void makePrivateFile(const std::filesystem::path& path);

} // namespace attn
