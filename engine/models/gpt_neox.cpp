#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/rotary_fields.h"

#include <fmt/format.h>

#include <array>

// GPT-NeoX: partial rotary positions, attention and feed-forward in parallel. @source Black et al. 2022,
// "GPT-NeoX-20B", arXiv:2204.06745; Biderman et al. 2023, "Pythia", arXiv:2304.01373; tensor names as in Hugging Face's
// files.

namespace attn {
namespace {

constexpr TiedReadout kTie{.stored = "embed_out.weight", .byDefault = false, .prefersStored = true};

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const int64_t width = read.size("hidden_size"), heads = read.heads("num_attention_heads", width, "hidden_size");
    const int64_t headWidth = width / heads;
    const bool bias = read.flag("attention_bias", true);
    LayerAttention attention{.spec = plainAttention({heads, heads}, MaskExpression::causal()),
                             .headWidth = headWidth,
                             .queryKeyValueBias = bias,
                             .outputBias = bias};
    attention.spec.put(
        Slot::Position, "rope",
        rotaryValues(
            read, {.base = "rotary_emb_base", .fraction = "rotary_pct", .usualFraction = 0.25, .mayRotatePart = true},
            headWidth));
    ModelSpec config;
    config.tokens.vocabulary = read.size("vocab_size");
    config.modelWidth = width;
    config.context = read.size("max_position_embeddings", 2048);
    config.norm = &kLayerNormPart;
    config.normEpsilon = read.number("layer_norm_eps", 1e-5);
    config.residual = read.flag("use_parallel_residual", true) ? &kParallelResidual : &kPreNormResidual;
    config.readouts.front().tiedEmbedding = kTie.inForce(read, names);
    config.feedForward = {.width = read.size("intermediate_size", 4 * width),
                          .activation = read.activation("hidden_act", "gelu")};
    config.layers = std::vector<LayerAttention>(static_cast<size_t>(read.size("num_hidden_layers")), attention);
    return config;
}

const FamilyNames kNames{
    .prefix = "gpt_neox.",
    .global = {{"embed.W_E", "embed_in.weight"}, {"ln_final", "final_layer_norm"}, {"unembed.W_U", "embed_out.weight"}},
    .blocks = "layers.",
    .inBlock = {{"ln1", "input_layernorm"},
                {"ln2", "post_attention_layernorm"},
                {"attn.Q", "attention.query_key_value"},
                {"attn.K", "attention.query_key_value"},
                {"attn.V", "attention.query_key_value"},
                {"attn.O", "attention.dense"},
                {"mlp.in", "mlp.dense_h_to_4h"},
                {"mlp.out", "mlp.dense_4h_to_h"}}};

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    if (isOfClasses(parameter)) return {.source = classTensor(config.classReadout().kind, "classifier", parameter)};
    WeightRecipe result{.source = kNames.tensorOf(parameter, names)};
    if (const int part = projectionOf(splitName(parameter).rest); part >= 0) {
        result.group = config.layers.front().headWidth; // query_key_value is [head, 3, D]
        result.offset = part * result.group;
        result.stride = 3 * result.group;
    }
    return result;
}

constexpr std::array<std::string_view, 1> kGptNeoXClasses{"GPTNeoX"};

} // namespace

const ModelFamily kGptNeoX{.id = "gpt_neox",
                           .title = "GPT-NeoX",
                           .modelTypes = {"gpt_neox"},
                           .config = config,
                           .recipe = recipe,
                           .classModels = kGptNeoXClasses,
                           .tie = kTie,
                           .leftovers = {"*.attention.bias", "*.attention.masked_bias", "*.rotary_emb.inv_freq"}};

} // namespace attn
