#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/model_cost.h"
#include "engine/models/site_problem.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

// Models with composed attention, trained by this program. Files use the engine's tensor names.

namespace attn {
namespace {

constexpr const char* kWhere = "'attention-cli parts' lists the parts of attention";

/// The attention of the layers of a stack. @param field of the configuration
std::vector<LayerAttention> layersIn(const ConfigReader& read, const TensorNames& names, const char* field,
                                     const std::string& stack) {
    const int64_t width = read.size("width"), heads = read.heads("heads", width, "the width");
    const bool hasBias = read.flag("bias", true);
    const nlohmann::json* specs = read.value(field);
    if (specs == nullptr || !specs->is_array() || specs->empty() ||
        !std::ranges::all_of(*specs, [](const auto& spec) { return spec.is_string(); }))
        read.fail(field, "is not a list of one expression per layer", kWhere);
    if (specs->size() > static_cast<size_t>(kMostLayers))
        read.fail(field, fmt::format("lists {} layers; at most {} are supported", specs->size(), kMostLayers));
    std::vector<LayerAttention> layers;
    for (const auto& text : *specs) {
        AttentionSpec spec = AttentionSpec::parse(text.get<std::string>());
        requireNoProjections(read, spec, blockName(std::ssize(layers), stack), names);
        const int64_t counted = headCounts(spec).heads;
        if (counted != heads && !mixesStream(spec))
            read.fail(field, fmt::format("has {} heads, but the model has {}", counted, heads), kWhere);
        layers.push_back({.spec = std::move(spec),
                          .headWidth = width / counted,
                          .queryKeyValueBias = hasBias,
                          .outputBias = hasBias});
    }
    return layers;
}

Positions positionsIn(const ConfigReader& read, const char* field) {
    const std::string positions = read.text(field, "none"); // the table of a model that was recomposed
    if (positions == "learned") return Positions::Learned;
    if (positions == "sinusoidal") return Positions::Sinusoidal;
    if (positions != "none")
        read.fail(field, fmt::format("is \"{}\"", positions), "supported: none, learned, sinusoidal");
    return Positions::None;
}

/// Gives a decoder what surrounds the layers of a model with an encoder, and the encoder.
void readEncoder(const ConfigReader& read, const TensorNames& names, ModelSpec& decoder) {
    decoder.finalNorm = read.flag("final_norm", true);
    if (read.flag("post_norm", false)) decoder.residual = &kPostNormResidual;
    decoder.embeddingNorm = read.flag("embedding_norm", false);
    decoder.tokens.scale = read.number("embedding_scale", 1);
    decoder.readouts.front().scale = read.number("readout_scale", 1);
    decoder.sharesPositions = read.flag("shares_positions", false);
    decoder.readouts.front().unembedBias = names.contains("unembed.b_U");
    StreamSpec encoder = decoder.stream();
    encoder.positions = positionsIn(read, "encoder_positions");
    encoder.layers = layersIn(read, names, "encoder_attention", "encoder");
    decoder.layers = layersIn(read, names, "attention", "decoder");
    decoder.crossAttention = layersIn(read, names, "cross_attention", "decoder");
    if (decoder.crossAttention.size() != decoder.layers.size())
        read.fail("cross_attention", fmt::format("lists {} layers, but attention lists {}",
                                                 decoder.crossAttention.size(), decoder.layers.size()));
    decoder.startToken = read.token("decoder_start_token_id", 0, decoder.tokens.vocabulary);
    decoder.readFrom(std::move(encoder));
    if (const auto problem = siteProblem(decoder)) read.fail("attention", "cannot be run: " + *problem, kWhere);
}

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const bool isRms = read.text("norm", "layer_norm") == "rms_norm", hasBias = read.flag("bias", true);
    ModelSpec config;
    config.tokens.vocabulary = read.size("vocab_size");
    config.modelWidth = read.size("width");
    config.context = read.size("context");
    config.norm = isRms ? &kRmsNormPart : &kLayerNormPart;
    config.normEpsilon = read.number("norm_epsilon", 1e-5);
    config.positions = positionsIn(read, "positions");
    config.readouts.front().tiedEmbedding = !names.contains("unembed.W_U");
    config.feedForward = {.width = read.flag("attention_only", false) ? 0 : read.size("feed_forward"),
                          .activation = read.activation("activation", "gelu_new"),
                          .gated = read.flag("gated", false),
                          .bias = hasBias};
    if (read.flag("is_encoder_decoder", false)) {
        readEncoder(read, names, config);
        return config;
    }
    if (read.flag("encoder", false)) { // what surrounds BERT's layers
        config.finalNorm = false;
        config.tokens.types = read.size("type_vocab_size", 2);
        config.embeddingNorm = true;
        config.residual = &kPostNormResidual;
        config.readouts.front().kind = TextReadout::MaskedToken;
        config.readouts.front().unembedBias = true;
        if (!names.contains("mlm_head.W")) config.readouts.clear();
    }
    config.layers = layersIn(read, names, "attention", "blocks");
    return config;
}

WeightRecipe recipe(const ModelSpec&, const std::string& parameter, const TensorNames&) {
    return {.source = parameter};
}

nlohmann::json textsOf(const std::vector<LayerAttention>& layers) {
    nlohmann::json specs = nlohmann::json::array();
    for (const LayerAttention& layer : layers) specs.push_back(layer.spec.text());
    return specs;
}

nlohmann::json describe(const ModelSpec& config) {
    const LayerAttention& attention = *std::ranges::max_element(
        config.layers, {}, [](const LayerAttention& layer) { return mixesStream(layer.spec) ? 0 : 1; });
    nlohmann::json json{{"model_type", "attention-lab"},
                        {"attention", textsOf(config.layers)},
                        {"vocab_size", config.tokens.vocabulary},
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
    const auto positions = [&](const char* field, Positions of) {
        if (of != Positions::None) json[field] = of == Positions::Learned ? "learned" : "sinusoidal";
    };
    positions("positions", config.positions);
    if (const StreamSpec* encoder = config.source(AxisKind::Tokens)) {
        json.update({{"is_encoder_decoder", true},
                     {"encoder_attention", textsOf(encoder->layers)},
                     {"cross_attention", textsOf(config.crossAttention)},
                     {"final_norm", config.finalNorm},
                     {"post_norm", config.residual == &kPostNormResidual},
                     {"embedding_norm", config.embeddingNorm},
                     {"embedding_scale", config.tokens.scale},
                     {"readout_scale", config.tokenReadout().scale},
                     {"shares_positions", config.sharesPositions},
                     {"decoder_start_token_id", config.startToken},
                     {"pad_token_id", config.startToken}});
        positions("encoder_positions", encoder->positions);
    }
    if (config.tokens.types > 0) {
        json["encoder"] = true;
        json["type_vocab_size"] = config.tokens.types;
    }
    return json;
}

constexpr std::array<std::string_view, 1> kComposedClasses{"AttentionLab"};

} // namespace

const ModelFamily kComposed{.id = "attention-lab",
                            .title = "Composed attention",
                            .modelTypes = {"attention-lab"},
                            .config = config,
                            .recipe = recipe,
                            .describe = describe,
                            .classModels = kComposedClasses,
                            .spareFields = {"feed_forward", "encoder_readout_scale", "encoder_tied"}};

} // namespace attn
