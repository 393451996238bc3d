#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/recipes.h"
#include "engine/models/written_configs.h"

#include <fmt/format.h>

#include <algorithm>

// Llama and its relatives Mistral (sliding window) and Qwen2 (bias on q, k and v). Hugging Face's files pair rotary
// features as halves. @source Touvron et al. 2023, arXiv:2302.13971 and arXiv:2307.09288; Jiang et al. 2023, "Mistral
// 7B", arXiv:2310.06825; Yang et al. 2024, "Qwen2", arXiv:2407.10671.

namespace attn {
namespace {

/// The values of rotary positions from "rope_theta" and "rope_scaling", or from "rope_parameters", which replaces both
/// in newer files.
std::vector<double> rotaryValues(const ConfigReader& read) {
    const char* field = read.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
    const double base = read.number("rope_theta", 10000);
    if (!read.has(field)) return {base};
    const ConfigReader scaling = read.object(field);
    std::vector<double> values{scaling.number("rope_theta", base)};
    const std::string type = scaling.text("rope_type", scaling.text("type", "default"));
    const double factor = scaling.number("factor", 1);
    if (factor <= 0) scaling.fail("factor", fmt::format("is {} but must be above 0", factor));
    if (type == "default") return values;
    values.insert(values.end(), {1, 0, factor}); // all features, in halves
    if (type == "linear") return values;
    if (type != "llama3")
        read.fail(field, fmt::format("has the unknown type \"{}\"", type), "supported: default, linear, llama3");
    const double low = scaling.number("low_freq_factor", 1), high = scaling.number("high_freq_factor", 4);
    if (high <= low)
        scaling.fail("high_freq_factor", fmt::format("is {} but must be above low_freq_factor {}", high, low));
    values.insert(values.end(), {scaling.number("original_max_position_embeddings", 8192), low, high});
    return values;
}

DecoderConfig config(const nlohmann::json& json, const std::string& file, const TensorNames& names) {
    const ConfigReader read(json, file);
    const int64_t width = read.size("hidden_size"),
                  heads = read.has("head_dim") ? read.size("num_attention_heads")
                                               : read.heads("num_attention_heads", width, "hidden_size"),
                  groups = read.size("num_key_value_heads", heads);
    if (heads % groups != 0)
        read.fail("num_key_value_heads", fmt::format("is {}, which does not divide {} heads", groups, heads));
    const int64_t headWidth = read.size("head_dim", width / heads);
    if (headWidth % 2 != 0)
        read.fail("head_dim", fmt::format("is {} but rotary positions need an even number", headWidth));
    const std::string type = read.text("model_type", "llama");
    const bool bias = read.flag("attention_bias", type == "qwen2");

    LayerAttention attention{.spec = plainAttention({heads, groups}, MaskExpression::causal()),
                             .headWidth = headWidth,
                             .queryKeyValueBias = bias,
                             .outputBias = bias && type != "qwen2"};
    attention.spec.put(Slot::Position, "rope", rotaryValues(read));
    const bool slides = read.has("sliding_window") && (type != "qwen2" || read.flag("use_sliding_window", false));
    const int64_t layers = read.size("num_hidden_layers");
    // The first layers of Qwen2 have no window.
    const int64_t firstSliding =
        !slides ? layers
        : type == "qwen2" && read.has("max_window_layers")
            ? static_cast<int64_t>(std::clamp(read.number("max_window_layers", 0), 0.0, static_cast<double>(layers)))
            : 0;
    std::vector<LayerAttention> specs(static_cast<size_t>(layers), attention);
    for (int64_t layer = firstSliding; layer < layers; ++layer)
        specs[static_cast<size_t>(layer)].spec.mask =
            MaskExpression::causal() & MaskExpression::within(read.size("sliding_window"));
    return {.vocabulary = read.size("vocab_size"),
            .modelWidth = width,
            .context = read.size("max_position_embeddings", 2048),
            .norm = NormKind::RmsNorm,
            .normEpsilon = read.number("rms_norm_eps", 1e-6),
            .tiedEmbedding = !names.contains("lm_head.weight"),
            .feedForward = {.width = read.size("intermediate_size"),
                            .activation = read.activation("hidden_act", "silu"),
                            .gated = true,
                            .bias = read.flag("mlp_bias", false)},
            .layers = std::move(specs)};
}

const FamilyNames kNames{.prefix = "model.",
                         .global = {{"embed.W_E", "embed_tokens.weight"},
                                    {"ln_final", "norm"},
                                    {"classifier", "score"},
                                    {"unembed.W_U", "lm_head.weight"}},
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

WeightRecipe recipe(const DecoderConfig&, const std::string& parameter, const TensorNames& names) {
    return {.source = kNames.tensorOf(parameter, names)};
}

} // namespace

const ModelFamily kLlama{.id = "llama",
                         .title = "Llama",
                         .modelTypes = {"llama", "mistral", "qwen2"},
                         .config = config,
                         .recipe = recipe,
                         .describe = describeLlama,
                         .prefix = kNames.prefix,
                         .classModels = "Llama"};

} // namespace attn
