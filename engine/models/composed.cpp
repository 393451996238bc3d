#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/model_cost.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

// Models with composed attention, trained by this program. Files use the engine's tensor names.

namespace attn {
namespace {

constexpr const char* kWhere = "'attention-cli parts' lists the parts of attention";

DecoderConfig config(const ConfigReader& read, const TensorNames& names) {
    const int64_t width = read.size("width"), heads = read.heads("heads", width, "the width");
    const nlohmann::json* specs = read.value("attention");
    if (specs == nullptr || !specs->is_array() || specs->empty() ||
        !std::ranges::all_of(*specs, [](const auto& spec) { return spec.is_string(); }))
        read.fail("attention", "is not a list of one expression per layer", kWhere);
    if (specs->size() > static_cast<size_t>(kMostLayers))
        read.fail("attention", fmt::format("lists {} layers; at most {} are supported", specs->size(), kMostLayers));
    const bool isRms = read.text("norm", "layer_norm") == "rms_norm", hasBias = read.flag("bias", true);
    DecoderConfig config{.vocabulary = read.size("vocab_size"),
                         .modelWidth = width,
                         .context = read.size("context"),
                         .norm = isRms ? &kRmsNormPart : &kLayerNormPart,
                         .normEpsilon = read.number("norm_epsilon", 1e-5),
                         .positions = TextPositions::None,
                         .tiedEmbedding = !names.contains("unembed.W_U"),
                         .feedForward = {.width = read.flag("attention_only", false) ? 0 : read.size("feed_forward"),
                                         .activation = read.activation("activation", "gelu_new"),
                                         .gated = read.flag("gated", false),
                                         .bias = hasBias},
                         .layers = {}};
    const std::string positions = read.text("positions", "none"); // the table of a model that was recomposed
    if (positions != "none" && positions != "learned")
        read.fail("positions", fmt::format("is \"{}\"", positions), "supported: none, learned");
    if (positions == "learned") config.positions = TextPositions::Learned;
    if (read.flag("encoder", false)) { // what surrounds BERT's layers
        config.finalNorm = false;
        config.tokenTypes = read.size("type_vocab_size", 2);
        config.embeddingNorm = true;
        config.residual = &kPostNormResidual;
        config.unembedBias = names.contains("mlm_head.W");
        config.readout = config.unembedBias ? TextReadout::MaskedToken : TextReadout::None;
    }
    for (const auto& text : *specs) {
        AttentionSpec spec = AttentionSpec::parse(text.get<std::string>());
        requireNoProjections(read, spec, blockName(std::ssize(config.layers)), names);
        const int64_t counted = headCounts(spec).heads;
        if (counted != heads && !mixesStream(spec))
            read.fail("attention", fmt::format("has {} heads, but the model has {}", counted, heads), kWhere);
        config.layers.push_back({.spec = std::move(spec),
                                 .headWidth = width / counted,
                                 .queryKeyValueBias = hasBias,
                                 .outputBias = hasBias});
    }
    return config;
}

WeightRecipe recipe(const DecoderConfig&, const std::string& parameter, const TensorNames&) {
    return {.source = parameter};
}

nlohmann::json describe(const DecoderConfig& config) {
    const LayerAttention& attention = *std::ranges::max_element(
        config.layers, {}, [](const LayerAttention& layer) { return mixesStream(layer.spec) ? 0 : 1; });
    nlohmann::json specs = nlohmann::json::array();
    for (const LayerAttention& layer : config.layers) specs.push_back(layer.spec.text());
    nlohmann::json json{{"model_type", "attention-lab"},
                        {"attention", specs},
                        {"vocab_size", config.vocabulary},
                        {"context", config.context},
                        {"width", config.modelWidth},
                        {"heads", attention.heads().heads},
                        {"norm", config.norm == &kRmsNormPart ? "rms_norm" : "layer_norm"},
                        {"norm_epsilon", config.normEpsilon},
                        {"attention_only", config.feedForward.width == 0},
                        {"feed_forward", std::max<int64_t>(config.feedForward.width, 1)},
                        {"activation", activationName(config.feedForward.activation)},
                        {"gated", config.feedForward.gated},
                        {"bias", attention.outputBias}};
    if (config.positions == TextPositions::Learned) json["positions"] = "learned";
    if (config.tokenTypes > 0) {
        json["encoder"] = true;
        json["type_vocab_size"] = config.tokenTypes;
    }
    return json;
}

} // namespace

const ModelFamily kComposed{.id = "attention-lab",
                            .title = "Composed attention",
                            .modelTypes = {"attention-lab"},
                            .config = config,
                            .recipe = recipe,
                            .describe = describe,
                            .classModels = "AttentionLab",
                            .spareFields = {"feed_forward"}};

} // namespace attn
