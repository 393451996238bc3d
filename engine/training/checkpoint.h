#pragma once

#include "engine/io/run_folder.h"
#include "engine/training/trainer.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace attn {

/// Writes the run's model as it is now, as a folder that opens in the program and elsewhere.
void writeModel(const std::filesystem::path& folder, const Trainer& trainer);

/// Writes recipe.json; later calls for the same run change nothing. @throws Error naming the file and why
void startRun(const std::filesystem::path& run, const Recipe& recipe);
/// @throws Error naming the file, the thing and the remedy
Recipe readRecipe(const std::filesystem::path& file);

/// Writes the run as it is now: aside, flushed, renamed. Of the older checkpoints only the last keeps its optimiser
/// state.
/// @return the checkpoint's folder
std::filesystem::path saveCheckpoint(const std::filesystem::path& run, const Trainer& trainer);

/// Goes on from a checkpoint: the following steps give the bits that the run would have given.
/// @throws Error naming the file when it is damaged, of another model, or has no optimiser state
void resume(Trainer& trainer, const std::filesystem::path& checkpoint);
/// Only the weights, of a checkpoint or any folder of the same shape.
void loadWeights(Trainer& trainer, const std::filesystem::path& folder);

} // namespace attn
