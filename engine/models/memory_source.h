#pragma once

#include "engine/models/model_source.h"
#include "engine/models/vision_source.h"

#include <map>

namespace attn {

/// The description of a vision model: everything in its folder except the parameters.
struct VisionDescription {
    VisionConfig config{};
    ImagePreprocessing preprocessing{};
    std::vector<std::string> labels{};
};

/// The parameters of a model in host memory: of a constructed model, or of a checkpoint.
struct WeightSet {
    /// The description that all checkpoints of a training run share.
    struct Model {
        DecoderConfig config{};
        std::string familyTitle{}, configText{}, example{};
        std::shared_ptr<const Tokenizer> tokenizer{};
        std::vector<int> stopTokens{};
        std::shared_ptr<const VisionDescription> vision{}; ///< replaces `config` for a vision model; else null
    };
    std::shared_ptr<const Model> model;
    std::map<std::string, std::vector<float>> values; ///< dense values by the engine's names
};

/// A source of a language model in memory.
std::unique_ptr<ModelSource> makeMemorySource(std::shared_ptr<const WeightSet> weights);
/// A source of a vision model in memory.
std::unique_ptr<VisionSource> makeMemoryVisionSource(std::shared_ptr<const WeightSet> weights);

/// The constructed model: "builtin:induction".
std::unique_ptr<ModelSource> makeInductionSource();

} // namespace attn
