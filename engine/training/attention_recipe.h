#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/training/recipe.h"

#include <optional>

namespace attn {

/// The slot that a suggested task should show: the first in the table of tasks that does not hold its default part.
Slot specialSlot(const AttentionSpec& spec);

/// Suggests a model with this attention and a task that shows the part in `slot`, by default in specialSlot(). Where
/// queries see later tokens, the model is an encoder that fills in the hidden words of stories, and hidden segments if
/// a part names segments. Parts that know the grid of a picture get a task with pictures. attentionProblem() reports
/// why an attention cannot be trained.
Recipe suggestedRecipe(const AttentionSpec& spec, std::optional<Slot> slot = {});

/// The command line that trains such a recipe.
std::string trainCommand(const Recipe& recipe);

/// Sets the intervals for twenty evaluations and forty checkpoints, whatever the number of steps.
Recipe withMoments(Recipe recipe);

} // namespace attn
