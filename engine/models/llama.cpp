#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/recipes.h"
#include "engine/models/rotary_fields.h"
#include "engine/models/trainable_family.h"
#include "engine/models/window_fields.h"
#include "engine/models/written_configs.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

// Llama and its relatives Mistral (sliding window) and Qwen2 (bias on q, k and v). Hugging Face's files pair rotary
// features as halves. @source Touvron et al. 2023, arXiv:2302.13971 and arXiv:2307.09288; Jiang et al. 2023, "Mistral
// 7B", arXiv:2310.06825; Yang et al. 2024, "Qwen2", arXiv:2407.10671.

namespace attn {
namespace {

constexpr TiedReadout kTie{.stored = "lm_head.weight", .byDefault = false, .prefersStored = true};

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const std::string type = read.text("model_type", "llama");
    const bool isMistral = type == "mistral", isQwen2 = type == "qwen2";
    const int64_t width = read.size("hidden_size"),
                  heads = read.has("head_dim") ? read.size("num_attention_heads")
                                               : read.heads("num_attention_heads", width, "hidden_size");
    constexpr const char* kGroups = "num_key_value_heads";
    const int64_t usualGroups = read.isNull(kGroups) ? heads
                                : isMistral          ? 8
                                : isQwen2            ? 32
                                                     : heads,
                  groups = read.size(kGroups, usualGroups);
    if (heads % groups != 0) read.fail(kGroups, fmt::format("is {}, which does not divide {} heads", groups, heads));
    const int64_t headWidth = read.size("head_dim", width / heads);
    if (headWidth % 2 != 0)
        read.fail("head_dim", fmt::format("is {} but rotary positions need an even number", headWidth));
    // Only Llama has these fields. Qwen2 has biases of its own, Mistral none.
    const bool isLlama = !isMistral && !isQwen2, bias = isLlama && read.flag("attention_bias", false);
    LayerAttention attention{.spec = plainAttention({heads, groups}, MaskExpression::causal()),
                             .headWidth = headWidth,
                             .queryKeyValueBias = bias || isQwen2,
                             .outputBias = bias};
    attention.spec.put(Slot::Position, "rope", rotaryValues(read, {}, headWidth));
    const int64_t layers = read.size("num_hidden_layers");
    std::vector<LayerAttention> specs(static_cast<size_t>(layers), attention);
    if (!isLlama) {
        const std::vector<int64_t> windows = windowsByLayer(read, {.byLayer = isQwen2}, layers);
        for (size_t layer = 0; layer < specs.size(); ++layer)
            if (windows[layer] > 0)
                specs[layer].spec.mask = MaskExpression::causal() & MaskExpression::within(windows[layer]);
    }
    ModelSpec config;
    config.tokens.vocabulary = read.size("vocab_size");
    config.modelWidth = width;
    config.context = read.size("max_position_embeddings", isMistral ? 131072 : isQwen2 ? 32768 : 2048);
    config.norm = &kRmsNormPart;
    config.normEpsilon = read.number("rms_norm_eps", 1e-6);
    config.readouts.front().tiedEmbedding = kTie.inForce(read, names);
    config.feedForward = {.width = read.size("intermediate_size"),
                          .activation = read.activation("hidden_act", "silu"),
                          .gated = true,
                          .bias = isLlama && read.flag("mlp_bias", false)};
    config.layers = std::move(specs);
    return config;
}

const FamilyNames kNames{
    .prefix = "model.",
    .global = {{"embed.W_E", "embed_tokens.weight"}, {"ln_final", "norm"}, {"unembed.W_U", "lm_head.weight"}},
    .blocks = "layers.",
    .inBlock = {{"ln1", "input_layernorm"},
                {"ln2", "post_attention_layernorm"},
                {"attn.Q", "self_attn.q_proj"},
                {"attn.K", "self_attn.k_proj"},
                {"attn.V", "self_attn.v_proj"},
                {"attn.O", "self_attn.o_proj"},
                {"mlp.gate", "mlp.gate_proj"},
                {"mlp.in", "mlp.up_proj"},
                {"mlp.out", "mlp.down_proj"}}};

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    if (isOfClasses(parameter)) return {.source = classTensor(config.classReadout().kind, "score", parameter)};
    return {.source = kNames.tensorOf(parameter, names)};
}

constexpr std::array<std::string_view, 3> kLlamaClasses{"Llama", "Mistral", "Qwen2"};

} // namespace

const ModelFamily kLlama{.id = "llama",
                         .title = "Llama",
                         .modelTypes = {"llama", "mistral", "qwen2"},
                         .config = config,
                         .recipe = recipe,
                         .describe = describeLlama,
                         .prefix = kNames.prefix,
                         .classModels = kLlamaClasses,
                         .tie = kTie,
                         .leftovers = {"*.rotary_emb.inv_freq"}};

const TrainableFamily kTrainsLlama{.id = "llama",
                                   .title = "Llama: rotary positions, RMS norm, SwiGLU",
                                   .readouts = {TextReadout::NextToken, TextReadout::TextClass},
                                   .mayLackBiases = true,
                                   .hasKeyValueHeads = true,
                                   .check = [](const Architecture& a) -> std::optional<ArchitectureProblem> {
                                       if (a.width / a.heads % 2 == 0) return {};
                                       return ArchitectureProblem{"width", "rotary positions need heads of even width"};
                                   },
                                   .describe =
                                       [](const Architecture& a, int64_t vocabulary, int64_t context) {
                                           LayerAttention attention = attentionOfLayers(a, MaskExpression::causal());
                                           attention.spec.put(Slot::Position, "rope", {});
                                           attention.queryKeyValueBias = attention.outputBias = false;
                                           const int64_t usual =
                                               (a.width * 8 / 3 + 7) / 8 * 8; // as many numbers as without a gate
                                           ModelSpec config;
                                           config.family = a.family;
                                           config.tokens.vocabulary = vocabulary;
                                           config.modelWidth = a.width;
                                           config.context = context;
                                           config.norm = &kRmsNormPart;
                                           config.feedForward = {.width = a.feedForward != 0 ? a.feedForward : usual,
                                                                 .activation = Activation::Silu,
                                                                 .gated = true,
                                                                 .bias = false};
                                           config.layers = std::vector(static_cast<size_t>(a.layers), attention);
                                           return config;
                                       }};

} // namespace attn
