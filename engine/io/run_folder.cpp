#include "engine/io/run_folder.h"

#include "engine/system/folder.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace attn {
namespace fs = std::filesystem;

std::optional<int64_t> checkpointStep(const fs::path& checkpoint) {
    constexpr std::string_view kPrefix = "step-";
    const std::string name = checkpoint.filename().string();
    if (!name.starts_with(kPrefix)) return std::nullopt;
    int64_t step = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
    return error == std::errc() && stop == end && step >= 0 ? std::optional(step) : std::nullopt;
}

std::string folderTitle(const fs::path& folder) {
    const auto step = checkpointStep(folder);
    if (!step || folder.parent_path().filename() != kCheckpointFolder) return folder.filename().string();
    return folder.parent_path().parent_path().filename().string() + ", step " + std::to_string(*step);
}

std::vector<fs::path> checkpoints(const fs::path& run) {
    std::vector<fs::path> result;
    std::error_code error;
    for (const fs::path& entry : entriesOf(run / kCheckpointFolder, error))
        if (checkpointStep(entry)) result.push_back(entry);
    std::ranges::sort(result, {}, [](const fs::path& path) { return *checkpointStep(path); });
    return result;
}

} // namespace attn
