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
/// @return the checkpoint's folder  @throws NotFinite if parameters that training changes are not numbers; Error naming
/// the file and the reason if one cannot be written. All is then as before
std::filesystem::path saveCheckpoint(const std::filesystem::path& run, const Trainer& trainer);

/// Whether a run has a checkpoint from which it can continue, if recoverCheckpoints() is called before.
bool hasCheckpoint(const std::filesystem::path& run);
/// Gives whole checkpoints their names that a killed process has left without. @pre the run is locked
void recoverCheckpoints(const std::filesystem::path& run);
/// Removes the newest checkpoint if it is that of a step and the run can continue from the one before.
void discardCheckpoint(const std::filesystem::path& run, int64_t step);

/// The number of steps that a checkpoint's training_state.json gives.
/// @param file path of it, for messages  @throws Error if there is none, or if no training run is that long
int64_t stepsDoneIn(const nlohmann::json& state, const std::string& file);
/// Resumes from a checkpoint. The following steps give the same bits as an uninterrupted training run.
/// @throws Error naming the file if it is damaged, belongs to another model, or has no optimiser state
void resume(Trainer& trainer, const std::filesystem::path& checkpoint);
/// Loads only the parameters, from a checkpoint or any model folder of the same shape.
void loadWeights(Trainer& trainer, const std::filesystem::path& folder);

} // namespace attn
