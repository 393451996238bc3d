#pragma once

#include "app/figures/axis_display.h"
#include "engine/analysis/patch_embedding.h"
#include "engine/io/image.h"

#include <optional>
#include <span>
#include <vector>

namespace attn {

/// A vision model's run on a picture, as figures show it. It refers to results that others keep.
struct PictureRun {
    const ModelInfo* model = nullptr;                ///< null: no model is open
    const Image* seen = nullptr;                     ///< the picture as the model reads it; null: there is no run
    std::span<const int> hidden{};                   ///< patches that the model did not see
    std::span<const SitePattern> patterns{};         ///< one per layer; without values if it forms no pattern
    const TokenMap* rollout = nullptr;               ///< null if a layer forms no pattern
    std::optional<int> rolloutClass{};               ///< the class whose gradients weight the rollout
    std::span<const std::vector<float>> distances{}; ///< mean attention distance of each layer: [heads], in pixels
    const PatchEmbedding* embedding = nullptr;       ///< null until it is known

    /// The axis of patches, with the picture; hidden patches are grey. @pre there is a run
    AxisDisplay axis() const;
};

} // namespace attn
