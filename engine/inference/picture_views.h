#pragma once

#include "engine/inference/site_pattern.h"
#include "engine/io/image.h"

#include <memory>
#include <vector>

namespace attn {

/// The answer of a model to a picture.
struct PictureAnswer {
    std::shared_ptr<const Image> seen; ///< the picture as the model reads it: resized and cropped
    std::vector<SitePattern> patterns; ///< one per layer; without values if the layer forms no pattern
    /// Mean attention distance of each layer: [heads], in pixels; empty without a pattern.
    std::vector<std::vector<float>> distances;
    std::vector<float> logits; ///< [classes]; empty if the model has no classifier
    /// [classes] as ModelInfo::activation makes them; of a regression, the logits; empty if the model has no classifier
    std::vector<float> probabilities;
    double elapsedMs = 0; ///< time from the patches to the answer
};

} // namespace attn
