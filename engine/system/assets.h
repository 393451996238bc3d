#pragma once

#include <filesystem>
#include <string>

namespace attn {

/// A folder of assets, of the installed program or else of the source tree. @param name such as "models"
std::filesystem::path assetsFolder(const std::string& name);

} // namespace attn
