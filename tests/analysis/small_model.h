#pragma once

#include "engine/inference/language_model.h"
#include "engine/models/memory_source.h"
#include "engine/models/model_builder.h"

#include <map>
#include <memory>
#include <random>

namespace attn::test {

/// The description of a small decoder of one attention layer. Tests change it.
inline ModelSpec smallDecoder(const AttentionSpec& attention, int64_t context = 16) {
    constexpr int64_t kWidth = 16;
    ModelSpec config;
    config.name = "small";
    config.tokens.vocabulary = 12;
    config.modelWidth = kWidth;
    config.context = context;
    config.layers = {LayerAttention{.spec = attention, .headWidth = headWidth(attention, kWidth)}};
    return config;
}

/// Such a model with random weights. Biases are zero.
inline std::unique_ptr<LanguageModel> modelOf(const ModelSpec& config,
                                              std::shared_ptr<const Tokenizer> tokenizer = nullptr) {
    auto model = std::make_shared<WeightSet::Model>();
    model->config = config;
    model->tokenizer = std::move(tokenizer);
    auto weights = std::make_shared<WeightSet>();
    weights->model = std::move(model);
    std::mt19937 engine(7);
    std::normal_distribution<float> normal(0, 0.4f);
    const ModelGraph graph = buildForListing(config);
    for (const Node* node : storedParameters(*graph.graph)) {
        std::vector<float>& values = weights->values[node->name];
        values.resize(static_cast<size_t>(node->outputs.front().shape.elements()));
        const bool isBias = node->name.substr(node->name.rfind('.') + 1).starts_with("b");
        for (float& value : values) value = isBias ? 0 : normal(engine);
    }
    return std::make_unique<LanguageModel>(makeMemorySource(std::move(weights)), LanguageModel::Options{});
}

} // namespace attn::test
