#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/trainable_family.h"
#include "engine/models/written_configs.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

// T5 and its relatives mT5 and FLAN-T5: an encoder and a decoder whose scores are not divided by sqrt(D) and have a
// learned number for each bucket of distances, one table for each stack. @source Raffel et al. 2020, "Exploring the
// Limits of Transfer Learning with a Unified Text-to-Text Transformer", arXiv:1910.10683; Shazeer 2020, "GLU Variants
// Improve Transformer", arXiv:2002.05202, for the gates of version 1.1; tensor names as in Hugging Face's files.

namespace attn {
namespace {

/// @source transformers 4, configuration_t5.py and configuration_mt5.py: their defaults differ
constexpr TiedReadout kTie{.stored = "lm_head.weight", .looseType = "mt5"};

/// The names that files give to the embedding that both stacks share.
constexpr std::array<std::string_view, 3> kEmbeddings{"shared.weight", "encoder.embed_tokens.weight",
                                                      "decoder.embed_tokens.weight"};

FeedForwardSpec feedForwardOf(const ConfigReader& read) {
    const std::string kind =
        read.text("feed_forward_proj", read.text("model_type", "") == "mt5" ? "gated-gelu" : "relu");
    constexpr std::string_view kGated = "gated-";
    const bool isNamedGated = kind.starts_with(kGated), isGated = read.flag("is_gated_act", isNamedGated);
    const std::string name = isNamedGated ? kind.substr(kGated.size()) : kind;
    const Activation named =
        kind == "gated-gelu" ? Activation::GeluTanh : read.activationNamed("feed_forward_proj", name);
    return {.width = read.size("d_ff"), // newer files restate the field by two others, which then count
            .activation = read.has("dense_act_fn") ? read.activation("dense_act_fn", "") : named,
            .gated = isGated,
            .bias = false};
}

std::vector<LayerAttention> layersOf(const ConfigReader& read, int64_t count, const MaskExpression& mask,
                                     bool hasPositions) {
    const int64_t heads = read.size("num_heads");
    LayerAttention attention{.spec = plainAttention({heads, heads}, mask), .headWidth = read.size("d_kv", 64)};
    attention.spec.put(Slot::Score, "dot", {1});
    const auto buckets = read.size("relative_attention_num_buckets", 32),
               reach = read.size("relative_attention_max_distance", 128);
    if (buckets % 4 != 0)
        read.fail("relative_attention_num_buckets", fmt::format("is {} but must be a multiple of 4", buckets));
    if (reach <= buckets / 2)
        read.fail("relative_attention_max_distance",
                  fmt::format("is {} but must be above half of the {} buckets", reach, buckets));
    if (hasPositions)
        attention.spec.put(Slot::Position, "t5", {static_cast<double>(buckets), static_cast<double>(reach)});
    return std::vector<LayerAttention>(static_cast<size_t>(count), attention);
}

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const int64_t width = read.size("d_model"), layers = read.size("num_layers");
    const bool isTied = kTie.inForce(read, names);
    ModelSpec decoder;
    decoder.tokens.vocabulary = read.size("vocab_size");
    decoder.modelWidth = width;
    decoder.context = read.size("n_positions", 512);
    decoder.norm = &kRmsNormPart;
    decoder.normEpsilon = read.number("layer_norm_epsilon", 1e-6);
    decoder.feedForward = feedForwardOf(read);
    decoder.layers = layersOf(read, layers, {}, true);
    decoder.sharesPositions = true;
    StreamSpec encoder = decoder.stream();
    const int64_t decoderLayers = read.size("num_decoder_layers", layers);
    decoder.readouts.front().tiedEmbedding = isTied;
    const bool isScaled = read.flag("scale_decoder_outputs", isTied);
    decoder.readouts.front().scale = isScaled ? 1 / std::sqrt(static_cast<double>(width)) : 1;
    decoder.layers = layersOf(read, decoderLayers, MaskExpression::causal(), true);
    decoder.crossAttention = layersOf(read, decoderLayers, {}, false);
    decoder.startToken = read.token("decoder_start_token_id", 0, decoder.tokens.vocabulary);
    decoder.readFrom(std::move(encoder));
    return decoder;
}

std::string tensorOf(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    if (parameter == "embed.W_E") {
        for (const std::string_view name : kEmbeddings)
            if (names.contains(name)) return std::string(name);
        return std::string(kEmbeddings.front());
    }
    if (parameter == "unembed.W_U") return "lm_head.weight";
    for (const std::string stack : {"encoder", "decoder"}) {
        if (parameter == stack + ".ln_final.w") return stack + ".final_layer_norm.weight";
        const auto [layer, rest] = splitName(parameter, stack + ".");
        if (layer < 0) continue;
        const char* const last = stack == "encoder" ? "1" : "2";
        static const NameTable kBlock{{"attn.Q", "layer.0.SelfAttention.q"},
                                      {"attn.K", "layer.0.SelfAttention.k"},
                                      {"attn.V", "layer.0.SelfAttention.v"},
                                      {"attn.O", "layer.0.SelfAttention.o"},
                                      {"attn.position.buckets", "layer.0.SelfAttention.relative_attention_bias.weight"},
                                      {"ln1", "layer.0.layer_norm"},
                                      {"cross_attn.Q", "layer.1.EncDecAttention.q"},
                                      {"cross_attn.K", "layer.1.EncDecAttention.k"},
                                      {"cross_attn.V", "layer.1.EncDecAttention.v"},
                                      {"cross_attn.O", "layer.1.EncDecAttention.o"},
                                      {"ln_cross", "layer.1.layer_norm"},
                                      {"ln2", "layer.{}.layer_norm"},
                                      {"mlp.gate", "layer.{}.DenseReluDense.wi_0"},
                                      {"mlp.out", "layer.{}.DenseReluDense.wo"}};
        const std::string block = fmt::format("{}.block.{}.", stack, layer);
        if (rest == "mlp.W_in") {
            const bool isGated = config.feedForward.gated;
            return fmt::format("{}layer.{}.DenseReluDense.wi{}.weight", block, last, isGated ? "_1" : "");
        }
        return block + fmt::format(fmt::runtime(lookUp(kBlock, rest)), last);
    }
    return lookUp({}, parameter);
}

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    return {.source = tensorOf(config, parameter, names)};
}

} // namespace

const ModelFamily kT5{.id = "t5",
                      .title = "T5",
                      .modelTypes = {"t5", "mt5"},
                      .config = config,
                      .recipe = recipe,
                      .describe = describeT5,
                      .tie = kTie,
                      .leftovers = {"decoder.block.*.layer.1.EncDecAttention.relative_attention_bias.weight"}};

const TrainableFamily kTrainsT5{.id = "t5",
                                .title = "T5: relative positions, RMS norm, gated GELU",
                                .hasSource = true,
                                .mayLackBiases = true,
                                .positions = {"learned", "none"},
                                .describe = [](const Architecture& a, int64_t vocabulary, int64_t context) {
                                    LayerAttention cross = attentionOfLayers(a, {});
                                    cross.spec.put(Slot::Score, "dot", {1});
                                    cross.queryKeyValueBias = cross.outputBias = false;
                                    LayerAttention self = cross;
                                    if (a.positions != "none") self.spec.put(Slot::Position, "t5", {32, 128});
                                    ModelSpec decoder;
                                    decoder.family = a.family;
                                    decoder.tokens.vocabulary = vocabulary;
                                    decoder.modelWidth = a.width;
                                    decoder.context = context;
                                    decoder.norm = &kRmsNormPart;
                                    decoder.normEpsilon = 1e-6;
                                    decoder.readouts.front().tiedEmbedding = false; // as in version 1.1
                                    decoder.feedForward = {.width = a.feedForward != 0 ? a.feedForward : 4 * a.width,
                                                           .activation = Activation::GeluTanh,
                                                           .gated = true,
                                                           .bias = false};
                                    decoder.sharesPositions = true;
                                    return withEncoder(std::move(decoder), std::move(self), cross, a.layers);
                                }};

} // namespace attn
