#pragma once

#include "engine/training/tasks/image_task.h"

#include <vector>

namespace attn {

/// A labelled picture and the classes that a model gives it.
struct ImagePrediction {
    LabelledImage example;
    std::vector<float> probabilities; ///< one per class
};

} // namespace attn
