#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/vision_family.h"

#include <fmt/format.h>

// DINOv2, with and without registers. It has LayerScale, and its largest model has a gated MLP. Its classifiers read
// CLS and the mean of the patches. Tensor names follow Hugging Face's files.
// @source Oquab et al. 2023, "DINOv2", arXiv:2304.07193; Darcet et al. 2024, arXiv:2309.16588

namespace attn {
namespace {

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const bool hasRegisters = read.text("model_type", "") == "dinov2_with_registers";
    ModelSpec config = visionConfigOf(read, hasRegisters ? 16 : 14); // Dinov2WithRegistersConfig and Dinov2Config
    config.normEpsilon = read.number("layer_norm_eps", 1e-6);
    config.residual = &kLayerScaleResidual;
    if (hasRegisters) config.patches.registers = read.size("num_register_tokens", 4);
    config.feedForward.gated = read.flag("use_swiglu_ffn", false);
    if (config.feedForward.gated) config.feedForward.activation = Activation::Silu;
    const double ratio = read.number("mlp_ratio", 4);
    if (!(ratio > 0 && ratio <= 64)) read.fail("mlp_ratio", "leaves no room for a feed-forward layer");
    const auto hidden = static_cast<int64_t>(static_cast<double>(config.modelWidth) * ratio);
    config.feedForward.width = config.feedForward.gated ? (hidden * 2 / 3 + 7) / 8 * 8 : hidden;
    if (hidden < 1) read.fail("mlp_ratio", "leaves no room for a feed-forward layer");
    if (names.contains("classifier.weight")) {
        config.readouts.front().classes = names.rowsOf("classifier.weight");
        config.readouts.front().pooling = PatchPooling::ClsAndMean;
    }
    return config;
}

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    const bool isGated = config.feedForward.gated;
    const FamilyNames all{.prefix = config.patches.registers > 0 ? "dinov2_with_registers." : "dinov2.",
                          .global = {{"embed.E", "embeddings.patch_embeddings.projection"},
                                     {"embed.cls", "embeddings.cls_token"},
                                     {"embed.registers", "embeddings.register_tokens"},
                                     {"pos_embed.W_pos", "embeddings.position_embeddings"},
                                     {"ln_final", "layernorm"},
                                     {"head.H", "classifier"}},
                          .blocks = "encoder.layer.",
                          .inBlock = {{"ln1", "norm1"},
                                      {"ln2", "norm2"},
                                      {"attn.Q", "attention.attention.query"},
                                      {"attn.K", "attention.attention.key"},
                                      {"attn.V", "attention.attention.value"},
                                      {"attn.O", "attention.output.dense"},
                                      {"scale1", "layer_scale1.lambda1"},
                                      {"scale2", "layer_scale2.lambda1"},
                                      {"mlp.gate", "mlp.weights_in"},
                                      {"mlp.in", isGated ? "mlp.weights_in" : "mlp.fc1"},
                                      {"mlp.out", isGated ? "mlp.weights_out" : "mlp.fc2"}}};
    const auto [layer, rest] = splitName(parameter);
    WeightRecipe result{.source = all.tensorOf(parameter, names), .flattened = layer < 0};
    if (isGated && rest.starts_with("mlp.") && !rest.ends_with("out")) { // weights_in is gate | in
        result.group = config.feedForward.width;
        result.offset = rest.ends_with("gate") ? 0 : config.feedForward.width;
    }
    return result;
}

} // namespace

const ModelFamily kDinov2{.id = "dinov2",
                          .title = "DINOv2",
                          .axis = AxisKind::Patches,
                          .modelTypes = {"dinov2"},
                          .config = config,
                          .recipe = recipe,
                          .leftovers = {"*mask_token"}};

const ModelFamily kDinov2WithRegisters{.id = "dinov2_with_registers",
                                       .title = "DINOv2 with registers",
                                       .axis = AxisKind::Patches,
                                       .modelTypes = {"dinov2_with_registers"},
                                       .config = config,
                                       .recipe = recipe,
                                       .positionFilter = GridFilter::AntialiasedBicubic,
                                       .leftovers = {"*mask_token"}};

} // namespace attn
