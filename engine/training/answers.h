#pragma once

#include "engine/training/image_objective.h"
#include "engine/training/image_prediction.h"
#include "engine/training/sequence_objective.h"
#include "engine/training/trainer.h"

#include <cstdint>
#include <vector>

// What a model that trains says of single examples.

namespace attn {

/// The objective of a task with sequences; null for a task with pictures.
const SequenceObjective* sequencesOf(const Trainer& trainer);
/// The objective of a task with pictures; null for a task with sequences.
const ImageObjective* imagesOf(const Trainer& trainer);

struct TaskAnswer {
    Example example;
    std::vector<int32_t> given; ///< the model's answer, by greedy generation
    std::vector<float> said{};  ///< in place of it, where the example has numbers: see saidOf()
};
enum class AnswerUntil : uint8_t {
    RightLength, ///< as many tokens as the right answer has
    EndToken     ///< up to the task's end token, or as many tokens as fit
};
/// The model's answers to `count` examples from `first` on. @throws Error for a task with pictures
std::vector<TaskAnswer> answersOf(Trainer& trainer, Split split, uint64_t first, int count,
                                  AnswerUntil until = AnswerUntil::RightLength);
/// The predictions for `count` pictures from `first` on. @throws Error for a task with sequences
std::vector<ImagePrediction> predictionsOf(Trainer& trainer, Split split, uint64_t first, int count);
/// Measures the current parameters on an instance of the task with another length and the same tokens.
/// @param lastTargets number of targets to count at the end of each row; 0: all
/// @throws Error if the model has parameters that depend on the length, or reads pictures
Trainer::LengthEvaluation evaluateAt(Trainer& trainer, const TaskInstance& instance, Split split, int rows,
                                     int lastTargets);

} // namespace attn
