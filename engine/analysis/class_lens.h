#pragma once

#include "engine/session/vision_analysis.h"

#include <string>
#include <vector>

namespace attn {

/// What a vision model would take a picture for if it ended after each layer.
/// @source nostalgebraist 2020, "interpreting GPT: the logit lens", here of a classifier; of single tokens: Vilas et
/// al.
///         2023, "Analyzing Vision Transformers for Image Classification in Class Embedding Space", arXiv:2310.18969
struct ClassLens : VisionAnalysisResult {
    struct Stage {
        int layer = -1;                   ///< -1: the embedding
        std::vector<float> probabilities; ///< [classes] by what the head reads
        int tokens = 0;
        std::vector<float> byToken; ///< [tokens, classes] if the head read each token by itself; empty where it
                                    ///< reads two at once
    };
    int classes = 0;
    std::vector<Stage> stages; ///< those that the head can read: of models that merge tokens, behind the last merge
};

struct ClassLensAnalysis : VisionAnalysis {
    std::string key() const override { return "class_lens"; }
    /// @throws Error where the model has no head
    std::shared_ptr<VisionAnalysisResult> run(VisionModel& model, const VisionAnalysisInput& input) const override;
};

} // namespace attn
