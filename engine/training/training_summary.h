#pragma once

#include "engine/training/recipe.h"

#include <string>

namespace attn {

/// How a model was trained, such as "from builtin:stories, task text, 200 steps, validation loss 4.12", from the recipe
/// and the metrics in its folder or, for a checkpoint, in that of its training run. The loss, in nats, is that of a
/// finished run: its last step ends with an evaluation.
/// @param path as modelFolder() takes it  @return empty if there is no recipe that can be read
std::string trainingSummary(const std::string& path);

/// The parameters of the task that a model was trained on, such as "length 6, values 10": prompts of other lengths are
/// new to it. @param path as above  @return empty if there is no recipe that can be read, or the task has none
std::string trainedParameters(const std::string& path);

/// The title of a model: "builtin:stories", or that of a folder. @param path as StartingPoint::model
std::string titleOfModel(const std::string& path);

/// A recipe that trains a model further: on its own task, if it was trained here, else on another.
/// @param path as StartingPoint::model
Recipe furtherRecipe(const std::string& path, const Task& otherwise);

} // namespace attn
