#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"

#include <fmt/format.h>

// GPT-NeoX: partial rotary positions, attention and feed-forward in parallel. @source Black et al. 2022,
// "GPT-NeoX-20B", arXiv:2204.06745; Biderman et al. 2023, "Pythia", arXiv:2304.01373; tensor names as in Hugging Face's
// files.

namespace attn {
namespace {

constexpr const char* kPrefix = "gpt_neox.";

DecoderConfig config(const nlohmann::json& json, const std::string& file, const TensorNames& names) {
    const ConfigReader read(json, file);
    const int64_t width = read.size("hidden_size"), heads = read.size("num_attention_heads");
    if (width % heads != 0)
        read.fail("num_attention_heads", fmt::format("is {}, which does not divide hidden_size {}", heads, width));
    const int64_t headWidth = width / heads;
    const double fraction = read.number("rotary_pct", 0.25);
    if (!(fraction > 0 && fraction <= 1))
        read.fail("rotary_pct", fmt::format("is {}, which is not above 0 and at most 1", fraction));
    const auto rotated = static_cast<int>(static_cast<double>(headWidth) * fraction) / 2 * 2;
    if (rotated < 2)
        read.fail("rotary_pct", fmt::format("is {}, which rotates {} of {} features", fraction, rotated, headWidth));
    const bool bias = read.flag("attention_bias", true);
    LayerAttention attention{.spec = plainAttention({heads, heads}, MaskExpression::causal()),
                             .headWidth = headWidth,
                             .queryKeyValueBias = bias,
                             .outputBias = bias};
    attention.spec.put(Slot::Position, "rope",
                       {read.number("rotary_emb_base", read.number("rope_theta", 10000)), fraction});
    return {.vocabulary = read.size("vocab_size"),
            .modelWidth = width,
            .context = read.size("max_position_embeddings", 2048),
            .norm = NormKind::LayerNorm,
            .normEpsilon = read.number("layer_norm_eps", 1e-5),
            .parallelResidual = read.flag("use_parallel_residual", true),
            .tiedEmbedding = !names.contains("embed_out.weight"),
            .feedForward = {.width = read.size("intermediate_size", 4 * width),
                            .activation = read.activation("hidden_act", "gelu")},
            .layers = std::vector<LayerAttention>(static_cast<size_t>(read.size("num_hidden_layers")), attention)};
}

WeightRecipe recipe(const DecoderConfig& config, const std::string& parameter, const TensorNames& names) {
    static const std::vector<std::pair<std::string, std::string>> kGlobal{{"embed.W_E", "embed_in.weight"},
                                                                          {"ln_final.w", "final_layer_norm.weight"},
                                                                          {"ln_final.b", "final_layer_norm.bias"},
                                                                          {"unembed.W_U", "embed_out.weight"}};
    static const std::vector<std::pair<std::string, std::string>> kBlock{
        {"ln1.w", "input_layernorm.weight"},          {"ln1.b", "input_layernorm.bias"},
        {"ln2.w", "post_attention_layernorm.weight"}, {"ln2.b", "post_attention_layernorm.bias"},
        {"attn.W_O", "attention.dense.weight"},       {"attn.b_O", "attention.dense.bias"},
        {"mlp.W_in", "mlp.dense_h_to_4h.weight"},     {"mlp.b_in", "mlp.dense_h_to_4h.bias"},
        {"mlp.W_out", "mlp.dense_4h_to_h.weight"},    {"mlp.b_out", "mlp.dense_4h_to_h.bias"}};
    const auto [layer, rest] = splitName(parameter);
    if (layer < 0) return {.source = names.resolve(kPrefix, lookUp(kGlobal, rest))};
    const auto source = [&, layer = layer](const std::string& name) {
        return names.resolve(kPrefix, fmt::format("layers.{}.{}", layer, name));
    };
    if (const size_t part = std::string("QKV").find(rest.back());
        rest.starts_with("attn.") && part != std::string::npos) {
        const int64_t headWidth = config.layers.front().headWidth; // query_key_value is [head, 3, D]
        return {.source =
                    source(rest[5] == 'W' ? "attention.query_key_value.weight" : "attention.query_key_value.bias"),
                .offset = static_cast<int64_t>(part) * headWidth,
                .group = headWidth,
                .stride = 3 * headWidth};
    }
    return {.source = source(lookUp(kBlock, rest))};
}

} // namespace

const ModelFamily kGptNeoX{
    .id = "gpt_neox", .title = "GPT-NeoX", .modelTypes = {"gpt_neox"}, .config = config, .recipe = recipe};

} // namespace attn
