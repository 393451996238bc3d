#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/vision_family.h"

#include <fmt/format.h>

// DINOv2, with and without registers. It has LayerScale, and its largest model has a gated MLP. Its classifiers read
// CLS and the mean of the patches. Tensor names follow Hugging Face's files.
// @source Oquab et al. 2023, "DINOv2", arXiv:2304.07193; Darcet et al. 2024, arXiv:2309.16588

namespace attn {
namespace {

VisionConfig config(const VisionFolder& folder) {
    const ConfigReader read = folder.config();
    VisionConfig config = visionConfigOf(read);
    config.normEpsilon = read.number("layer_norm_eps", 1e-6);
    config.layerScale = true;
    if (read.text("model_type", "") == "dinov2_with_registers") config.registers = read.size("num_register_tokens", 4);
    config.feedForward.gated = read.flag("use_swiglu_ffn", false);
    const double ratio = read.number("mlp_ratio", 4);
    if (!(ratio > 0 && ratio <= 64)) read.fail("mlp_ratio", "leaves no room for a feed-forward layer");
    const auto hidden = static_cast<int64_t>(static_cast<double>(config.modelWidth) * ratio);
    config.feedForward.width = config.feedForward.gated ? (hidden * 2 / 3 + 7) / 8 * 8 : hidden;
    if (hidden < 1) read.fail("mlp_ratio", "leaves no room for a feed-forward layer");
    if (folder.names.contains("classifier.weight")) {
        config.classes = folder.rowsOf("classifier.weight");
        config.pooling = VisionPooling::ClsAndMean;
    }
    return config;
}

WeightRecipe recipe(const VisionConfig& config, const std::string& parameter, const TensorNames& names) {
    static const std::vector<std::pair<std::string, std::string>> kGlobal{
        {"embed.W_E", "embeddings.patch_embeddings.projection.weight"},
        {"embed.b_E", "embeddings.patch_embeddings.projection.bias"},
        {"embed.cls", "embeddings.cls_token"},
        {"embed.registers", "embeddings.register_tokens"},
        {"pos_embed.W_pos", "embeddings.position_embeddings"},
        {"ln_final.w", "layernorm.weight"},
        {"ln_final.b", "layernorm.bias"},
        {"head.W_H", "classifier.weight"},
        {"head.b_H", "classifier.bias"}};
    static const std::vector<std::pair<std::string, std::string>> kBlock{
        {"ln1.w", "norm1.weight"},
        {"ln1.b", "norm1.bias"},
        {"ln2.w", "norm2.weight"},
        {"ln2.b", "norm2.bias"},
        {"attn.W_Q", "attention.attention.query.weight"},
        {"attn.b_Q", "attention.attention.query.bias"},
        {"attn.W_K", "attention.attention.key.weight"},
        {"attn.b_K", "attention.attention.key.bias"},
        {"attn.W_V", "attention.attention.value.weight"},
        {"attn.b_V", "attention.attention.value.bias"},
        {"attn.W_O", "attention.output.dense.weight"},
        {"attn.b_O", "attention.output.dense.bias"},
        {"scale1", "layer_scale1.lambda1"},
        {"scale2", "layer_scale2.lambda1"},
        {"mlp.W_in", "mlp.fc1.weight"},
        {"mlp.b_in", "mlp.fc1.bias"},
        {"mlp.W_out", "mlp.fc2.weight"},
        {"mlp.b_out", "mlp.fc2.bias"}};
    static const std::vector<std::pair<std::string, std::string>> kGated{
        {"mlp.W_gate", "mlp.weights_in.weight"}, {"mlp.b_gate", "mlp.weights_in.bias"},
        {"mlp.W_in", "mlp.weights_in.weight"},   {"mlp.b_in", "mlp.weights_in.bias"},
        {"mlp.W_out", "mlp.weights_out.weight"}, {"mlp.b_out", "mlp.weights_out.bias"}};
    const bool hasRegisters = config.registers > 0;
    const std::string prefix = hasRegisters ? "dinov2_with_registers." : "dinov2.";
    const auto [layer, rest] = splitName(parameter);
    if (layer < 0) return {.source = names.resolve(prefix, lookUp(kGlobal, rest)), .flattened = true};
    const bool isGated = config.feedForward.gated && rest.starts_with("mlp.");
    WeightRecipe result{.source = names.resolve(prefix, fmt::format("encoder.layer.{}.{}", layer,
                                                                    lookUp(isGated ? kGated : kBlock, rest)))};
    if (isGated && !rest.ends_with("out")) { // weights_in is gate | in
        result.group = config.feedForward.width;
        result.offset = rest.ends_with("gate") ? 0 : config.feedForward.width;
    }
    return result;
}

} // namespace

const VisionFamily kDinov2{
    .id = "dinov2", .title = "DINOv2", .modelTypes = {"dinov2"}, .config = config, .recipe = recipe};

const VisionFamily kDinov2WithRegisters{.id = "dinov2_with_registers",
                                        .title = "DINOv2 with registers",
                                        .modelTypes = {"dinov2_with_registers"},
                                        .config = config,
                                        .recipe = recipe,
                                        .positionFilter = GridFilter::AntialiasedBicubic};

} // namespace attn
