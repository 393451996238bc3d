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

/// The parameters of a model in memory: of a constructed model, or of one that trains.
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
    std::map<std::string, std::vector<float>> values; ///< dense values in host memory, by the engine's names
    /// The same on a device, in place of `values`. Nothing writes to it any more.
    std::shared_ptr<const TensorStore> stored{};
};

/// A source of a language model in memory.
std::unique_ptr<ModelSource> makeMemorySource(std::shared_ptr<const WeightSet> weights);
/// A source of a vision model in memory.
std::unique_ptr<VisionSource> makeMemoryVisionSource(std::shared_ptr<const WeightSet> weights);

/// The constructed model: "builtin:induction".
std::unique_ptr<ModelSource> makeInductionSource();

} // namespace attn
