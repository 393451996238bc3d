#include "engine/models/bundled.h"

#include <algorithm>

namespace attn {
namespace fs = std::filesystem;

std::vector<BundledModel> bundledModels() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    fs::path folder = program.parent_path() / ".." / "share" / "attention-lab" / "models";
    if (program.empty() || !fs::is_directory(folder, error)) folder = fs::path(ATTN_ASSETS_DIR) / "models";
    std::vector<BundledModel> models;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (fs::exists(entry.path() / "config.json", error)) models.push_back({"builtin:" + name, name, entry.path()});
    }
    std::ranges::sort(models, {}, &BundledModel::title);
    return models;
}

} // namespace attn
