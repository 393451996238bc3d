#pragma once

#include "engine/models/model_source.h"

#include <map>

namespace attn {

/// The parameters of a model in memory: of a constructed model, or of one that trains.
struct WeightSet {
    /// The description that all checkpoints of a training run share: everything in a folder except the parameters.
    struct Model {
        ModelSpec config{};
        std::string familyTitle{}, configText{}, example{};
        std::shared_ptr<const Tokenizer> tokenizer{};
        std::vector<int> stopTokens{};
        ImagePreprocessing preprocessing{};
    };
    std::shared_ptr<const Model> model;
    std::map<std::string, std::vector<float>> values; ///< dense values in host memory, by the engine's names
    /// The same on a device, in place of `values`. Nothing writes to it any more.
    std::shared_ptr<const TensorStore> stored{};
};

/// A source of a model in memory.
std::unique_ptr<ModelSource> makeMemorySource(std::shared_ptr<const WeightSet> weights);

/// The constructed model: "builtin:induction".
std::unique_ptr<ModelSource> makeInductionSource();

} // namespace attn
