#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/trainable_family.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

// GPT-2. @source Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"; tensor names as in Hugging
// Face's files.

namespace attn {
namespace {

constexpr TiedReadout kTie{.stored = "lm_head.weight", .prefersStored = true};

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const int64_t width = read.size("n_embd"), heads = read.heads("n_head", width, "n_embd"),
                  layers = read.size("n_layer");
    const nlohmann::json* inner = read.value("n_inner");
    const bool attentionOnly = inner != nullptr && *inner == 0; // trained by this program without MLPs
    if (read.flag("add_cross_attention", false))
        read.fail("add_cross_attention", "is true, but this program runs GPT-2 only by itself");
    LayerAttention attention{.spec = plainAttention({heads, heads}, MaskExpression::causal()),
                             .headWidth = width / heads,
                             .queryKeyValueBias = true,
                             .outputBias = true};
    const bool isScaled = read.flag("scale_attn_weights", true),
               isScaledByLayer = read.flag("scale_attn_by_inverse_layer_idx", false);
    const double scale = isScaled ? 1 / std::sqrt(static_cast<double>(width / heads)) : 1;
    ModelSpec config;
    config.tokens.vocabulary = read.size("vocab_size");
    config.modelWidth = width;
    config.context = read.size("n_positions", read.size("n_ctx", 1024));
    config.norm = &kLayerNormPart;
    config.normEpsilon = read.number("layer_norm_epsilon", 1e-5);
    config.positions = Positions::Learned;
    config.readouts.front().tiedEmbedding = kTie.inForce(read, names);
    config.feedForward = {.width = attentionOnly ? 0 : read.size("n_inner", 4 * width),
                          .activation = read.activation("activation_function", "gelu_new")};
    for (int64_t layer = 0; layer < layers; ++layer) {
        config.layers.push_back(attention);
        if (!isScaled || isScaledByLayer)
            config.layers.back().spec.put(Slot::Score, "dot",
                                          {scale / (isScaledByLayer ? static_cast<double>(layer + 1) : 1)});
    }
    return config;
}

const FamilyNames kNames{.prefix = "transformer.",
                         .global = {{"embed.W_E", "wte.weight"},
                                    {"pos_embed.W_pos", "wpe.weight"},
                                    {"ln_final", "ln_f"},
                                    {"unembed.W_U", "lm_head.weight"}},
                         .blocks = "h.",
                         .inBlock = {{"ln1", "ln_1"},
                                     {"ln2", "ln_2"},
                                     {"attn.Q", "attn.c_attn"},
                                     {"attn.K", "attn.c_attn"},
                                     {"attn.V", "attn.c_attn"},
                                     {"attn.O", "attn.c_proj"},
                                     {"mlp.in", "mlp.c_fc"},
                                     {"mlp.out", "mlp.c_proj"}}};

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    if (isOfClasses(parameter)) return {.source = classTensor(config.classReadout().kind, "classifier", parameter)};
    const std::string inBlock = splitName(parameter).rest;
    WeightRecipe result{.source = kNames.tensorOf(parameter, names),
                        .transposed = inBlock.starts_with("attn.W") || inBlock.starts_with("mlp.W")};
    if (const int part = projectionOf(inBlock); part >= 0) {
        result.group = config.modelWidth; // c_attn is Q | K | V
        result.offset = part * config.modelWidth;
    }
    return result;
}

nlohmann::json describe(const ModelSpec& config) {
    const LayerAttention& attention = config.layers.front();
    return {{"architectures", {"GPT2LMHeadModel"}},
            {"model_type", "gpt2"},
            {"vocab_size", config.tokens.vocabulary},
            {"n_embd", config.modelWidth},
            {"n_head", attention.heads().heads},
            {"n_layer", config.layers.size()},
            {"n_inner", config.feedForward.width},
            {"n_positions", config.context},
            {"activation_function", activationName(config.feedForward.activation)},
            {"layer_norm_epsilon", config.normEpsilon},
            {"tie_word_embeddings", config.tokenReadout().tiedEmbedding},
            {"resid_pdrop", 0.0},
            {"embd_pdrop", 0.0},
            {"attn_pdrop", 0.0},
            {"torch_dtype", "float32"}};
}

constexpr std::array<std::string_view, 1> kGpt2Classes{"GPT2"};

} // namespace

const ModelFamily kGpt2{.id = "gpt2",
                        .title = "GPT-2",
                        .modelTypes = {"gpt2"},
                        .config = config,
                        .recipe = recipe,
                        .describe = describe,
                        .prefix = kNames.prefix,
                        .classModels = kGpt2Classes,
                        .tie = kTie,
                        .leftovers = {"*h.*.attn.bias", "*h.*.attn.masked_bias"}};

const TrainableFamily kTrainsGpt2{.id = "gpt2",
                                  .title = "GPT-2: learned positions, layer norm, GELU",
                                  .readouts = {TextReadout::NextToken, TextReadout::TextClass},
                                  .mayLackBiases = true,
                                  .mayLackMlps = true,
                                  .describe = [](const Architecture& a, int64_t vocabulary, int64_t context) {
                                      ModelSpec config;
                                      config.family = a.family;
                                      config.tokens.vocabulary = vocabulary;
                                      config.modelWidth = a.width;
                                      config.context = context;
                                      config.positions = Positions::Learned;
                                      config.feedForward = feedForwardOf(a);
                                      config.layers = std::vector(static_cast<size_t>(a.layers),
                                                                  attentionOfLayers(a, MaskExpression::causal()));
                                      return config;
                                  }};

} // namespace attn
