#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace attn {

// A run's folder holds recipe.json, metrics.jsonl and checkpoints/step-000500/, each a Hugging Face folder with the
// optimiser's state beside the weights. A checkpoint exists under its name only when it is whole.

inline constexpr const char* kCheckpointFolder = "checkpoints";

/// After how many steps a checkpoint was written, by its name; none for any other folder.
std::optional<int64_t> checkpointStep(const std::filesystem::path& checkpoint);

/// The whole checkpoints of a run, oldest first.
std::vector<std::filesystem::path> checkpoints(const std::filesystem::path& run);

} // namespace attn
