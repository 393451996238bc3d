#include "engine/system/assets.h"

namespace attn {
namespace fs = std::filesystem;

fs::path assetsFolder(const std::string& name) {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    const fs::path installed = program.parent_path() / ".." / "share" / "attention-lab" / name;
    return !program.empty() && fs::is_directory(installed, error) ? installed : fs::path(ATTN_ASSETS_DIR) / name;
}

} // namespace attn
