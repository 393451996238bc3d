#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// DistilBERT: BERT with half the layers, without token types and pooler. @source Sanh et al. 2019, "DistilBERT, a
// distilled version of BERT", arXiv:1910.01108; tensor names as in Hugging Face's files.

namespace attn {
namespace {

constexpr const char* kPrefix = "distilbert.";

DecoderConfig config(const nlohmann::json& json, const std::string& file, const TensorNames& names) {
    const ConfigReader read(json, file);
    const int64_t width = read.size("dim"), heads = read.size("n_heads"), layers = read.size("n_layers");
    if (width % heads != 0) read.fail("n_heads", fmt::format("is {}, which does not divide dim {}", heads, width));
    const bool hasHead = names.contains("vocab_transform.weight");
    const LayerAttention attention{.spec = plainAttention({heads, heads}, {}),
                                   .headWidth = width / heads,
                                   .queryKeyValueBias = true,
                                   .outputBias = true};
    return {.vocabulary = read.size("vocab_size"),
            .modelWidth = width,
            .context = read.size("max_position_embeddings", 512),
            .norm = NormKind::LayerNorm,
            .normEpsilon = 1e-12, // no field of the config
            .finalNorm = false,
            .learnedPositions = true, // files hold the table even where it is a sinusoid
            .embeddingNorm = true,
            .postNorm = true,
            .readout = hasHead ? TextReadout::MaskedToken : TextReadout::None,
            .tiedEmbedding = read.flag("tie_word_embeddings", true) || !names.contains("vocab_projector.weight"),
            .unembedBias = hasHead,
            .feedForward = {.width = read.size("hidden_dim"), .activation = read.activation("activation", "gelu")},
            .layers = std::vector<LayerAttention>(static_cast<size_t>(layers), attention)};
}

WeightRecipe recipe(const DecoderConfig&, const std::string& parameter, const TensorNames& names) {
    static const std::vector<std::pair<std::string, std::string>> kGlobal{
        {"embed.W_E", "embeddings.word_embeddings.weight"},
        {"pos_embed.W_pos", "embeddings.position_embeddings.weight"},
        {"embed.ln.w", "embeddings.LayerNorm.weight"},
        {"embed.ln.b", "embeddings.LayerNorm.bias"},
        {"mlm_head.W", "vocab_transform.weight"},
        {"mlm_head.b", "vocab_transform.bias"},
        {"mlm_head.ln.w", "vocab_layer_norm.weight"},
        {"mlm_head.ln.b", "vocab_layer_norm.bias"},
        {"unembed.W_U", "vocab_projector.weight"},
        {"unembed.b_U", "vocab_projector.bias"}};
    static const std::vector<std::pair<std::string, std::string>> kBlock{
        {"attn.W_Q", "attention.q_lin.weight"},   {"attn.b_Q", "attention.q_lin.bias"},
        {"attn.W_K", "attention.k_lin.weight"},   {"attn.b_K", "attention.k_lin.bias"},
        {"attn.W_V", "attention.v_lin.weight"},   {"attn.b_V", "attention.v_lin.bias"},
        {"attn.W_O", "attention.out_lin.weight"}, {"attn.b_O", "attention.out_lin.bias"},
        {"ln1.w", "sa_layer_norm.weight"},        {"ln1.b", "sa_layer_norm.bias"},
        {"mlp.W_in", "ffn.lin1.weight"},          {"mlp.b_in", "ffn.lin1.bias"},
        {"mlp.W_out", "ffn.lin2.weight"},         {"mlp.b_out", "ffn.lin2.bias"},
        {"ln2.w", "output_layer_norm.weight"},    {"ln2.b", "output_layer_norm.bias"}};
    const auto [layer, rest] = splitName(parameter);
    if (layer < 0) return {.source = names.resolve(kPrefix, lookUp(kGlobal, rest))};
    return {.source = names.resolve(kPrefix, fmt::format("transformer.layer.{}.{}", layer, lookUp(kBlock, rest)))};
}

} // namespace

const ModelFamily kDistilBert{
    .id = "distilbert", .title = "DistilBERT", .modelTypes = {"distilbert"}, .config = config, .recipe = recipe};

} // namespace attn
