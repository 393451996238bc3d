#pragma once

#include <filesystem>
#include <system_error>

namespace attn {

/// Whether a folder has an entry of this name. A link to a file that is not there is one too: whoever reads it says so.
inline bool isInFolder(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

} // namespace attn
