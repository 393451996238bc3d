#pragma once

#include "engine/models/model_source.h"
#include "engine/models/vision_source.h"

#include <map>

namespace attn {

/// What a vision model's folder says besides its weights.
struct VisionDescription {
    VisionConfig config{};
    ImagePreprocessing preprocessing{};
    std::vector<std::string> labels{};
};

/// Weights in host memory: of a constructed model, or what a training run was at one moment.
struct WeightSet {
    /// What all moments of a run share.
    struct Model {
        DecoderConfig config{};
        std::string familyTitle{}, configText{}, example{};
        std::shared_ptr<const Tokenizer> tokenizer{};
        std::vector<int> stopTokens{};
        std::shared_ptr<const VisionDescription> vision{}; ///< of a vision model, in place of config; else null
    };
    std::shared_ptr<const Model> model;
    std::map<std::string, std::vector<float>> values; ///< dense, by the engine's names
};

std::unique_ptr<ModelSource> makeMemorySource(std::shared_ptr<const WeightSet> weights);
/// Of a vision model.
std::unique_ptr<VisionSource> makeMemoryVisionSource(std::shared_ptr<const WeightSet> weights);

/// The constructed model: "builtin:induction".
std::unique_ptr<ModelSource> makeInductionSource();

} // namespace attn
