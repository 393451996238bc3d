#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/model_cost.h"
#include "engine/models/site_problem.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

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

TextPositions positionsIn(const ConfigReader& read, const char* field) {
    const std::string positions = read.text(field, "none"); // the table of a model that was recomposed
    if (positions == "learned") return TextPositions::Learned;
    if (positions == "sinusoidal") return TextPositions::Sinusoidal;
    if (positions != "none")
        read.fail(field, fmt::format("is \"{}\"", positions), "supported: none, learned, sinusoidal");
    return TextPositions::None;
}

/// Gives a decoder what surrounds the layers of a model with an encoder, and the encoder.
void readEncoder(const ConfigReader& read, const TensorNames& names, DecoderConfig& decoder) {
    decoder.finalNorm = read.flag("final_norm", true);
    if (read.flag("post_norm", false)) decoder.residual = &kPostNormResidual;
    decoder.embeddingNorm = read.flag("embedding_norm", false);
    decoder.embeddingScale = read.number("embedding_scale", 1);
    decoder.readoutScale = read.number("readout_scale", 1);
    decoder.sharesPositions = read.flag("shares_positions", false);
    decoder.unembedBias = names.contains("unembed.b_U");
    DecoderConfig encoder = decoder;
    encoder.readout = TextReadout::None;
    encoder.unembedBias = false;
    encoder.tiedEmbedding = read.flag("encoder_tied", encoder.tiedEmbedding);
    encoder.readoutScale = read.number("encoder_readout_scale", encoder.readoutScale);
    encoder.positions = positionsIn(read, "encoder_positions");
    encoder.layers = layersIn(read, names, "encoder_attention", "encoder");
    decoder.layers = layersIn(read, names, "attention", "decoder");
    decoder.crossAttention = layersIn(read, names, "cross_attention", "decoder");
    if (decoder.crossAttention.size() != decoder.layers.size())
        read.fail("cross_attention", fmt::format("lists {} layers, but attention lists {}",
                                                 decoder.crossAttention.size(), decoder.layers.size()));
    decoder.startToken = read.token("decoder_start_token_id", 0, decoder.vocabulary);
    decoder.encoder.push_back(std::move(encoder));
    if (const auto problem = siteProblem(decoder)) read.fail("attention", "cannot be run: " + *problem, kWhere);
}

DecoderConfig config(const ConfigReader& read, const TensorNames& names) {
    const bool isRms = read.text("norm", "layer_norm") == "rms_norm", hasBias = read.flag("bias", true);
    DecoderConfig config{.vocabulary = read.size("vocab_size"),
                         .modelWidth = read.size("width"),
                         .context = read.size("context"),
                         .norm = isRms ? &kRmsNormPart : &kLayerNormPart,
                         .normEpsilon = read.number("norm_epsilon", 1e-5),
                         .positions = positionsIn(read, "positions"),
                         .tiedEmbedding = !names.contains("unembed.W_U"),
                         .feedForward = {.width = read.flag("attention_only", false) ? 0 : read.size("feed_forward"),
                                         .activation = read.activation("activation", "gelu_new"),
                                         .gated = read.flag("gated", false),
                                         .bias = hasBias},
                         .layers = {}};
    if (read.flag("is_encoder_decoder", false)) {
        readEncoder(read, names, config);
        return config;
    }
    if (read.flag("encoder", false)) { // what surrounds BERT's layers
        config.finalNorm = false;
        config.tokenTypes = read.size("type_vocab_size", 2);
        config.embeddingNorm = true;
        config.residual = &kPostNormResidual;
        config.unembedBias = names.contains("mlm_head.W");
        config.readout = config.unembedBias ? TextReadout::MaskedToken : TextReadout::None;
    }
    config.layers = layersIn(read, names, "attention", "blocks");
    return config;
}

WeightRecipe recipe(const DecoderConfig&, const std::string& parameter, const TensorNames&) {
    return {.source = parameter};
}

nlohmann::json textsOf(const std::vector<LayerAttention>& layers) {
    nlohmann::json specs = nlohmann::json::array();
    for (const LayerAttention& layer : layers) specs.push_back(layer.spec.text());
    return specs;
}

nlohmann::json describe(const DecoderConfig& config) {
    const LayerAttention& attention = *std::ranges::max_element(
        config.layers, {}, [](const LayerAttention& layer) { return mixesStream(layer.spec) ? 0 : 1; });
    nlohmann::json json{{"model_type", "attention-lab"},
                        {"attention", textsOf(config.layers)},
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
    const auto positions = [&](const char* field, TextPositions of) {
        if (of != TextPositions::None) json[field] = of == TextPositions::Learned ? "learned" : "sinusoidal";
    };
    positions("positions", config.positions);
    if (config.hasEncoder()) {
        const DecoderConfig& encoder = config.encoder.front();
        json.update({{"is_encoder_decoder", true},
                     {"encoder_attention", textsOf(encoder.layers)},
                     {"cross_attention", textsOf(config.crossAttention)},
                     {"final_norm", config.finalNorm},
                     {"post_norm", config.residual == &kPostNormResidual},
                     {"embedding_norm", config.embeddingNorm},
                     {"embedding_scale", config.embeddingScale},
                     {"readout_scale", config.readoutScale},
                     {"encoder_readout_scale", encoder.readoutScale},
                     {"encoder_tied", encoder.tiedEmbedding},
                     {"shares_positions", config.sharesPositions},
                     {"decoder_start_token_id", config.startToken},
                     {"pad_token_id", config.startToken}});
        positions("encoder_positions", encoder.positions);
    }
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
