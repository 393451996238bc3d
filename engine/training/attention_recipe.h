#pragma once

#include "engine/attention/attention_spec.h"
#include "engine/training/recipe.h"

#include <optional>

namespace attn {

/// The slot that makes a spec special: the first of the table of tasks that holds something else than its default.
Slot specialSlot(const AttentionSpec& spec);

/// A model around a spec and a task that shows it at work: for a part of `slot`, else for what is special about the
/// spec. A mask that looks ahead is made causal, as every task asks for the next token; what else cannot be trained is
/// left for attentionProblem() to explain.
Recipe suggestedRecipe(const AttentionSpec& spec, std::optional<Slot> slot = {});

/// Twenty measurements and forty moments for the timeline, however long the run is.
Recipe withMoments(Recipe recipe);

} // namespace attn
