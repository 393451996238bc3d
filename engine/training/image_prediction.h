#pragma once

#include "engine/training/tasks/image_task.h"

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A labelled picture and what a model says of it.
struct ImagePrediction {
    LabelledImage example;
    std::vector<float> said;  ///< one per class, label or number: see saidOf()
    std::string right, given; ///< both answers in words
    /// The probability of the given class, of one class of several.
    std::optional<double> probability;
    std::optional<double> error{}; ///< of numbers, which are not right or wrong: see meanDistance()
    bool isRight() const { return given == right; }
};

} // namespace attn
