#pragma once

#include "engine/analysis/analysis.h"

#include <string>
#include <vector>

namespace attn {

/// The classes that a vision model would predict if it ended after each layer.
/// @source nostalgebraist 2020, "interpreting GPT: the logit lens", here for a classifier. For single tokens: Vilas et
///         al. 2023, "Analyzing Vision Transformers for Image Classification in Class Embedding Space",
///         arXiv:2310.18969
struct ClassLens : AnalysisResult {
    struct Stage {
        int layer = -1;                   ///< -1: the embedding
        std::vector<float> probabilities; ///< [classes] from the tokens that the classifier reads
        int tokens = 0;
        /// [tokens, classes] if the classifier read only that token. Empty for a classifier that reads two tokens.
        std::vector<float> byToken;
    };
    int classes = 0;
    std::vector<Stage> stages; ///< stages that the classifier can read: those after the last merging of tokens
};

/// Computes ClassLens.
struct ClassLensAnalysis : Analysis {
    std::string key() const override { return "class_lens"; }
    /// @throws Error if the model has no classifier
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
