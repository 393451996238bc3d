#pragma once

#include "engine/text/bleu.h"
#include "engine/training/tasks/task.h"

namespace attn {

class Trainer;

/// Compares what the model writes for the first sources of a split, each to its own end, with their targets.
/// @param count of examples  @pre the task has sources
Bleu translationQuality(Trainer& trainer, Split split, int count);

} // namespace attn
