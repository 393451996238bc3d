#include "engine/core/error.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/vision_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

// Vision transformers in the format of timm (vit_base_patch16_224, deit_*_distilled_*, vit_*_reg4_dinov2): a state dict
// and a config that names an architecture. Missing settings follow from the shapes of tensors.
// @source Wightman, "PyTorch Image Models", https://github.com/huggingface/pytorch-image-models, vision_transformer.py

namespace attn {
namespace {

bool recognises(const VisionFolder& folder) {
    return folder.names.contains("patch_embed.proj.weight") && folder.names.contains("blocks.0.attn.qkv.weight");
}

bool isSquare(int64_t count) {
    const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(count))));
    return side * side == count;
}

/// Refuses tensors of variants that this program does not support.
void refuseVariations(const VisionFolder& folder) {
    for (const std::string& name : folder.weights.names())
        for (const char* part : {"q_norm", "norm_pre", "attn_pool", "rel_pos", "relative_position", "attn.norm"})
            if (name.find(part) != std::string::npos)
                throw Error({.what = fmt::format("tensor \"{}\" belongs to a variant that is not supported", name),
                             .where = folder.weights.fileOf(name).string(),
                             .hint = "choose a plain timm vit, deit or dinov2"});
}

/// The number of heads. timm's files do not contain it; it follows from the size in the architecture's name.
int64_t headsOf(const ConfigReader& read, int64_t width) {
    if (read.hasObject("model_args") && read.object("model_args").has("num_heads"))
        return read.object("model_args").size("num_heads");
    if (read.has("num_heads")) return read.size("num_heads");
    const std::string architecture = read.text("architecture", "");
    const int64_t giant = architecture.find("dinov2") == std::string::npos ? 16 : 24;
    const std::array<std::pair<const char*, int64_t>, 7> sizes{{{"_tiny_", 3},
                                                                {"_small_", 6},
                                                                {"_base_", 12},
                                                                {"_large_", 16},
                                                                {"_huge_", 16},
                                                                {"_giant_", giant},
                                                                {"_gigantic_", 16}}};
    for (const auto& [word, heads] : sizes)
        if (architecture.find(word) != std::string::npos && width % heads == 0) return heads;
    if (width % 64 == 0) return width / 64;
    read.fail("num_heads", "is missing", "add the number of attention heads to config.json");
}

ImageSize trainedSize(const VisionFolder& folder, int64_t patch, int64_t patches) {
    if (folder.config().hasObject("pretrained_cfg")) {
        const auto size = folder.config().object("pretrained_cfg").wholeNumbers("input_size");
        if (size && size->size() == 3) {
            const ImageSize image{(*size)[1], (*size)[2]};
            if (image.height > 0 && image.width > 0 && image.height / patch * (image.width / patch) == patches)
                return {image.height / patch * patch, image.width / patch * patch};
        }
    }
    if (!isSquare(patches))
        throw Error({.what = fmt::format(
                         "tensor \"pos_embed\" has positions for {} patches, which is not a square number", patches),
                     .where = folder.weights.fileOf("pos_embed").string(),
                     .hint = "set pretrained_cfg.input_size in config.json to the image size"});
    const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(patches))));
    return {side * patch, side * patch};
}

VisionConfig config(const VisionFolder& folder) {
    const ConfigReader read = folder.config();
    refuseVariations(folder);
    const auto shapeOf = [&](const std::string& name, size_t rank) {
        const StoredTensor& tensor = folder.weights.tensor(name);
        if (tensor.shape.size() != rank || std::ranges::find(tensor.shape, 0) != tensor.shape.end())
            throw Error({.what = fmt::format("tensor \"{}\" is {} but should have {} axes", name,
                                             Shape(tensor.shape).text(), rank),
                         .where = folder.weights.fileOf(name).string(),
                         .hint = "check that the file is a timm model"});
        return tensor.shape;
    };
    const auto patches = shapeOf("patch_embed.proj.weight", 4), positions = shapeOf("pos_embed", 3);
    const auto inner = shapeOf("blocks.0.mlp.fc1.weight", 2), outer = shapeOf("blocks.0.mlp.fc2.weight", 2);
    VisionConfig config{.patch = patches[2], .channels = patches[1], .modelWidth = patches[0]};
    if (patches[2] != patches[3] || (config.channels != 1 && config.channels != 3))
        throw Error(
            {.what = fmt::format("tensor \"patch_embed.proj.weight\" reads patches of {} x {} pixels and {} channels",
                                 patches[3], patches[2], config.channels),
             .where = folder.weights.fileOf("patch_embed.proj.weight").string(),
             .hint = "choose a model with square patches of 3 channels (colour) or 1 (grey)"});
    config.clsToken = folder.names.contains("cls_token");
    config.distillationToken = folder.names.contains("dist_token");
    if (folder.names.contains("reg_token")) config.registers = shapeOf("reg_token", 3)[1];
    // If the number of positions is that of the patches, CLS has no position.
    config.prefixPositions = config.positioned() > 0 && !isSquare(positions[1]);
    const int64_t count = positions[1] - (config.prefixPositions ? config.positioned() : 0);
    config.image = trainedSize(folder, config.patch, count);
    config.layerScale = folder.names.contains("blocks.0.ls1.gamma");
    config.feedForward = {.width = outer[1], .activation = Activation::GeluErf, .gated = inner[0] == 2 * outer[1]};
    if (folder.names.contains("head.weight")) config.classes = folder.rowsOf("head.weight");
    config.distillationHead = config.distillationToken && folder.names.contains("head_dist.weight");
    config.normAfterPooling = folder.names.contains("fc_norm.weight");
    const std::string pool = read.text("global_pool", config.normAfterPooling || !config.clsToken ? "avg" : "token");
    if (pool != "avg" && pool != "token" && !pool.empty())
        read.fail("global_pool", fmt::format("is \"{}\"", pool), "supported: token, avg");
    config.pooling = pool == "avg" || !config.clsToken ? VisionPooling::Mean : VisionPooling::Cls;
    int64_t layers = 0;
    while (folder.names.contains(fmt::format("blocks.{}.attn.qkv.weight", layers))) ++layers;
    config.layers = visionLayers(read, "num_heads", config.modelWidth, headsOf(read, config.modelWidth), layers,
                                 folder.names.contains("blocks.0.attn.qkv.bias"));
    return config;
}

WeightRecipe recipe(const VisionConfig& config, const std::string& parameter, const TensorNames& names) {
    const FamilyNames all{.prefix = "",
                          .global = {{"embed.E", "patch_embed.proj"},
                                     {"embed.cls", "cls_token"},
                                     {"embed.distillation", "dist_token"},
                                     {"embed.registers", "reg_token"},
                                     {"pos_embed.W_pos", "pos_embed"},
                                     {"ln_final", config.normAfterPooling ? "fc_norm" : "norm"},
                                     {"head.H", "head"},
                                     {"distillation_head.H", "head_dist"}},
                          .blocks = "blocks.",
                          .inBlock = {{"ln1", "norm1"},
                                      {"ln2", "norm2"},
                                      {"attn.Q", "attn.qkv"},
                                      {"attn.K", "attn.qkv"},
                                      {"attn.V", "attn.qkv"},
                                      {"attn.O", "attn.proj"},
                                      {"scale1", "ls1.gamma"},
                                      {"scale2", "ls2.gamma"},
                                      {"mlp.gate", "mlp.fc1"},
                                      {"mlp.in", "mlp.fc1"},
                                      {"mlp.out", "mlp.fc2"}}};
    const auto [layer, rest] = splitName(parameter);
    WeightRecipe result{.source = all.tensorOf(parameter, names), .flattened = layer < 0};
    if (const int part = projectionOf(rest); layer >= 0 && part >= 0) { // qkv is Q | K | V
        result.group = config.modelWidth;
        result.offset = part * config.modelWidth;
    } else if (config.feedForward.gated && (rest.ends_with("_gate") || rest.ends_with("_in"))) { // fc1 is gate | in
        result.group = config.feedForward.width;
        result.offset = rest.ends_with("_gate") ? 0 : config.feedForward.width;
    }
    return result;
}

} // namespace

const VisionFamily kTimmVit{.id = "timm_vit",
                            .title = "Vision Transformer of timm",
                            .modelTypes = {},
                            .recognises = recognises,
                            .config = config,
                            .recipe = recipe,
                            .positionFilter = GridFilter::AntialiasedBicubic};

} // namespace attn
