#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn {

// The folder of a training run holds recipe.json, data.sha256, metrics.jsonl and checkpoints such as
// checkpoints/step-000500/. Each checkpoint is a Hugging Face folder that also holds the optimiser's state. It gets its
// name only when it is complete.

inline constexpr const char* kCheckpointFolder = "checkpoints";

/// The number of steps in a checkpoint's name; none for any other folder.
std::optional<int64_t> checkpointStep(const std::filesystem::path& checkpoint);

/// The title of a folder with a model: its name, or for a checkpoint those of its training run and step, such as "sort,
/// step 100".
std::string folderTitle(const std::filesystem::path& folder);

/// The complete checkpoints of a training run, oldest first.
std::vector<std::filesystem::path> checkpoints(const std::filesystem::path& run);

} // namespace attn
