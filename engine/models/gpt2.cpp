#include "engine/models/config_reader.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

// GPT-2. @source Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"; tensor names as in Hugging
// Face's files.

namespace attn {
namespace {

constexpr const char* kPrefix = "transformer.";

DecoderConfig config(const nlohmann::json& json, const std::string& file, const TensorNames& names) {
    const ConfigReader read(json, file);
    const int64_t width = read.size("n_embd"), heads = read.size("n_head"), layers = read.size("n_layer");
    if (width % heads != 0) read.fail("n_head", fmt::format("is {}, which does not divide n_embd {}", heads, width));
    const auto inner = json.find("n_inner");
    const bool attentionOnly = inner != json.end() && *inner == 0; // trained by this program without MLPs
    LayerAttention attention{.spec = plainAttention({heads, heads}, MaskExpression::causal()),
                             .headWidth = width / heads,
                             .queryKeyValueBias = true,
                             .outputBias = true};
    const bool isScaled = read.flag("scale_attn_weights", true),
               isScaledByLayer = read.flag("scale_attn_by_inverse_layer_idx", false);
    const double scale = isScaled ? 1 / std::sqrt(static_cast<double>(width / heads)) : 1;
    DecoderConfig config{.vocabulary = read.size("vocab_size"),
                         .modelWidth = width,
                         .context = read.size("n_positions", read.size("n_ctx", 1024)),
                         .norm = NormKind::LayerNorm,
                         .normEpsilon = read.number("layer_norm_epsilon", 1e-5),
                         .learnedPositions = true,
                         .tiedEmbedding = !names.contains("lm_head.weight"),
                         .feedForward = {.width = attentionOnly ? 0 : read.size("n_inner", 4 * width),
                                         .activation = read.activation("activation_function", "gelu_new")},
                         .layers = {}};
    for (int64_t layer = 0; layer < layers; ++layer) {
        config.layers.push_back(attention);
        if (!isScaled || isScaledByLayer)
            config.layers.back().spec.put(Slot::Score, "dot",
                                          {scale / (isScaledByLayer ? static_cast<double>(layer + 1) : 1)});
    }
    return config;
}

WeightRecipe recipe(const DecoderConfig& config, const std::string& parameter, const TensorNames& names) {
    static const std::vector<std::pair<std::string, std::string>> kGlobal{{"embed.W_E", "wte.weight"},
                                                                          {"pos_embed.W_pos", "wpe.weight"},
                                                                          {"ln_final.w", "ln_f.weight"},
                                                                          {"ln_final.b", "ln_f.bias"},
                                                                          {"unembed.W_U", "lm_head.weight"}};
    static const std::vector<std::pair<std::string, std::string>> kBlock{
        {"ln1.w", "ln_1.weight"},           {"ln1.b", "ln_1.bias"},
        {"ln2.w", "ln_2.weight"},           {"ln2.b", "ln_2.bias"},
        {"attn.W_Q", "attn.c_attn.weight"}, {"attn.W_K", "attn.c_attn.weight"},
        {"attn.W_V", "attn.c_attn.weight"}, {"attn.b_Q", "attn.c_attn.bias"},
        {"attn.b_K", "attn.c_attn.bias"},   {"attn.b_V", "attn.c_attn.bias"},
        {"attn.W_O", "attn.c_proj.weight"}, {"attn.b_O", "attn.c_proj.bias"},
        {"mlp.W_in", "mlp.c_fc.weight"},    {"mlp.b_in", "mlp.c_fc.bias"},
        {"mlp.W_out", "mlp.c_proj.weight"}, {"mlp.b_out", "mlp.c_proj.bias"}};
    const auto [layer, rest] = splitName(parameter);
    if (layer < 0) return {.source = names.resolve(kPrefix, lookUp(kGlobal, rest))};

    const bool isMatrix = rest.starts_with("attn.W") || rest.starts_with("mlp.W");
    WeightRecipe result{.source = names.resolve(kPrefix, fmt::format("h.{}.{}", layer, lookUp(kBlock, rest))),
                        .transposed = isMatrix};
    if (const size_t part = std::string("QKV").find(rest.back());
        rest.starts_with("attn.") && part != std::string::npos) {
        result.group = config.modelWidth; // c_attn is Q | K | V
        result.offset = static_cast<int64_t>(part) * config.modelWidth;
    }
    return result;
}

nlohmann::json describe(const DecoderConfig& config) {
    const LayerAttention& attention = config.layers.front();
    return {{"architectures", {"GPT2LMHeadModel"}},
            {"model_type", "gpt2"},
            {"vocab_size", config.vocabulary},
            {"n_embd", config.modelWidth},
            {"n_head", attention.heads().heads},
            {"n_layer", config.layers.size()},
            {"n_inner", config.feedForward.width},
            {"n_positions", config.context},
            {"activation_function", config.feedForward.activation == Activation::GeluErf ? "gelu"
                                    : config.feedForward.activation == Activation::Relu  ? "relu"
                                                                                         : "gelu_new"},
            {"layer_norm_epsilon", config.normEpsilon},
            {"tie_word_embeddings", config.tiedEmbedding},
            {"resid_pdrop", 0.0},
            {"embd_pdrop", 0.0},
            {"attn_pdrop", 0.0},
            {"torch_dtype", "float32"}};
}

} // namespace

const ModelFamily kGpt2{.id = "gpt2",
                        .title = "GPT-2",
                        .modelTypes = {"gpt2"},
                        .config = config,
                        .recipe = recipe,
                        .describe = describe,
                        .prefix = kPrefix};

} // namespace attn
