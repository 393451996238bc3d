#include "engine/io/run_folder.h"

#include <algorithm>
#include <string>

namespace attn {
namespace fs = std::filesystem;

std::vector<fs::path> checkpoints(const fs::path& run) {
    std::vector<fs::path> result;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(run / kCheckpointFolder, error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("step-") && !name.ends_with(".partial")) result.push_back(entry.path());
    }
    std::ranges::sort(result, [](const fs::path& a, const fs::path& b) { // numbers of more than six digits are longer
        const std::string x = a.filename().string(), y = b.filename().string();
        return x.size() != y.size() ? x.size() < y.size() : x < y;
    });
    return result;
}

} // namespace attn
