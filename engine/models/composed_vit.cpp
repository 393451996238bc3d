#include "engine/attention/heads/heads.h"
#include "engine/models/vision_family.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

// Vision transformers trained here that differ from the plain one: by attention that is composed of parts, by the mean
// of the patches in CLS's place, or by their positions. Under the engine's own tensor names.

namespace attn {
namespace {

constexpr const char* kWhere = "see attention-cli parts for what attention is composed of";

VisionConfig config(const VisionFolder& folder) {
    const ConfigReader read = folder.config();
    VisionConfig config = visionConfigOf(read);
    config.feedForward.width = read.size("intermediate_size", 4 * config.modelWidth);
    if (folder.names.contains("head.W_H")) config.classes = folder.rowsOf("head.W_H");
    const std::string pooling = read.text("pooling", "cls"), positions = read.text("positions", "learned");
    if (pooling != "cls" && pooling != "mean")
        read.fail("pooling", fmt::format("is \"{}\"", pooling), "supported: cls, mean");
    config.pooling = pooling == "mean" ? VisionPooling::Mean : VisionPooling::Cls;
    config.clsToken = pooling == "cls";
    if (positions != "learned" && positions != "sinusoidal" && positions != "none")
        read.fail("positions", fmt::format("is \"{}\"", positions), "supported: learned, sinusoidal, none");
    config.positions = positions == "sinusoidal" ? VisionPositions::Sinusoidal
                       : positions == "none"     ? VisionPositions::None
                                                 : VisionPositions::Learned;
    const auto specs = read.json().find("attention");
    if (specs == read.json().end()) return config;
    if (!specs->is_array() || specs->size() != config.layers.size() ||
        !std::ranges::all_of(*specs, [](const auto& spec) { return spec.is_string(); }))
        read.fail("attention", "is not a list of expressions, one for each layer", kWhere);
    for (size_t layer = 0; layer < specs->size(); ++layer) {
        const AttentionSpec spec = AttentionSpec::parse((*specs)[layer].get<std::string>());
        HeadLayout& heads = config.layers[layer].heads;
        const HeadCounts counts = headCounts(spec.part(Slot::Heads), spec.values(Slot::Heads));
        if (counts.heads != heads.heads)
            read.fail("attention", fmt::format("has {} heads and the model {}", counts.heads, heads.heads), kWhere);
        heads.keyValueHeads = counts.groups;
        config.layers[layer].spec = spec;
    }
    return config;
}

WeightRecipe recipe(const VisionConfig&, const std::string& parameter, const TensorNames&) {
    return {.source = parameter};
}

nlohmann::json describe(const VisionConfig& config) {
    nlohmann::json json = visionConfigJson(config);
    json["model_type"] = "attention-lab-vit";
    json["pooling"] = config.pooling == VisionPooling::Mean ? "mean" : "cls";
    json["positions"] = config.positions == VisionPositions::Sinusoidal ? "sinusoidal"
                        : config.positions == VisionPositions::None     ? "none"
                                                                        : "learned";
    nlohmann::json specs = nlohmann::json::array();
    for (const LayerAttention& layer : config.layers)
        if (layer.spec) specs.push_back(layer.spec->text());
    if (!specs.empty()) json["attention"] = specs;
    return json;
}

} // namespace

const VisionFamily kComposedVit{.id = "attention-lab-vit",
                                .title = "Composed vision transformer",
                                .modelTypes = {"attention-lab-vit"},
                                .config = config,
                                .recipe = recipe,
                                .describe = describe};

} // namespace attn
