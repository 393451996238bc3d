#pragma once

#include "engine/io/run_folder.h"
#include "engine/training/recipe.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace attn {

class Trainer;

/// Writes the current model as a folder that this and other programs can open.
void writeModel(const std::filesystem::path& folder, const Trainer& trainer);

/// Creates the folder of a training run with recipe.json. Keeps an existing recipe.
/// @throws Error naming the file and the reason
void startRun(const std::filesystem::path& run, const Recipe& recipe);
/// Reads recipe.json. @throws Error naming the file, the problem and the remedy
Recipe readRecipe(const std::filesystem::path& file);

/// Writes a checkpoint: under a temporary name, flushed, then renamed. Removes the optimiser state from older
/// checkpoints except the previous one, and unfinished checkpoints of processes that were killed.
/// @return the checkpoint's folder
std::filesystem::path saveCheckpoint(const std::filesystem::path& run, const Trainer& trainer);

/// The number of steps that a checkpoint's training_state.json gives.
/// @param file path of it, for messages  @throws Error if there is none, or if no training run is that long
int64_t stepsDoneIn(const nlohmann::json& state, const std::string& file);
/// Resumes from a checkpoint. The following steps give the same bits as an uninterrupted training run.
/// @throws Error naming the file if it is damaged, belongs to another model, or has no optimiser state
void resume(Trainer& trainer, const std::filesystem::path& checkpoint);
/// Loads only the parameters, from a checkpoint or any model folder of the same shape.
void loadWeights(Trainer& trainer, const std::filesystem::path& folder);

} // namespace attn
