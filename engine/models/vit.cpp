#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/vision_family.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// ViT and its distilled relative DeiT. DINO has the files of ViT. Tensor names follow Hugging Face's files.
// @source Dosovitskiy et al. 2021, arXiv:2010.11929; Touvron et al. 2021, "Training data-efficient image transformers",
// arXiv:2012.12877, section 4; Caron et al. 2021, "DINO", arXiv:2104.14294

namespace attn {
namespace {

VisionConfig common(const VisionFolder& folder) {
    const ConfigReader read = folder.config();
    VisionConfig config = visionConfigOf(read);
    config.feedForward.width = read.size("intermediate_size", 4 * config.modelWidth);
    return config;
}

VisionConfig vitConfig(const VisionFolder& folder) {
    VisionConfig config = common(folder);
    if (folder.names.contains("classifier.weight")) config.classes = folder.rowsOf("classifier.weight");
    return config;
}

VisionConfig deitConfig(const VisionFolder& folder) {
    VisionConfig config = common(folder);
    config.distillationToken = true;
    config.distillationHead = folder.names.contains("distillation_classifier.weight");
    for (const char* head : {"cls_classifier.weight", "classifier.weight"})
        if (folder.names.contains(head)) config.classes = folder.rowsOf(head);
    return config;
}

WeightRecipe recipe(const std::string& prefix, const std::string& parameter, const TensorNames& names) {
    static const std::vector<std::pair<std::string, std::string>> kGlobal{
        {"embed.W_E", "embeddings.patch_embeddings.projection.weight"},
        {"embed.b_E", "embeddings.patch_embeddings.projection.bias"},
        {"embed.cls", "embeddings.cls_token"},
        {"embed.distillation", "embeddings.distillation_token"},
        {"pos_embed.W_pos", "embeddings.position_embeddings"},
        {"ln_final.w", "layernorm.weight"},
        {"ln_final.b", "layernorm.bias"}};
    static const std::vector<std::pair<std::string, std::string>> kHeads{
        {"head.W_H", "classifier.weight"},
        {"head.b_H", "classifier.bias"},
        {"distillation_head.W_H", "distillation_classifier.weight"},
        {"distillation_head.b_H", "distillation_classifier.bias"}};
    static const std::vector<std::pair<std::string, std::string>> kBlock{
        {"ln1.w", "layernorm_before.weight"},
        {"ln1.b", "layernorm_before.bias"},
        {"ln2.w", "layernorm_after.weight"},
        {"ln2.b", "layernorm_after.bias"},
        {"attn.W_Q", "attention.attention.query.weight"},
        {"attn.b_Q", "attention.attention.query.bias"},
        {"attn.W_K", "attention.attention.key.weight"},
        {"attn.b_K", "attention.attention.key.bias"},
        {"attn.W_V", "attention.attention.value.weight"},
        {"attn.b_V", "attention.attention.value.bias"},
        {"attn.W_O", "attention.output.dense.weight"},
        {"attn.b_O", "attention.output.dense.bias"},
        {"mlp.W_in", "intermediate.dense.weight"},
        {"mlp.b_in", "intermediate.dense.bias"},
        {"mlp.W_out", "output.dense.weight"},
        {"mlp.b_out", "output.dense.bias"}};
    const auto [layer, rest] = splitName(parameter);
    if (layer >= 0)
        return {.source = names.resolve(prefix, fmt::format("encoder.layer.{}.{}", layer, lookUp(kBlock, rest)))};
    if (rest.find("head.") != std::string::npos) {
        const std::string name = lookUp(kHeads, rest); // DeiT with two classifiers names the first after its token
        return {.source = names.contains("cls_" + name) ? "cls_" + name : name};
    }
    return {.source = names.resolve(prefix, lookUp(kGlobal, rest)), .flattened = true};
}

} // namespace

const VisionFamily kVit{.id = "vit",
                        .title = "Vision Transformer",
                        .modelTypes = {"vit"},
                        .config = vitConfig,
                        .recipe = [](const VisionConfig&, const std::string& parameter,
                                     const TensorNames& names) { return recipe("vit.", parameter, names); },
                        .prefix = "vit.",
                        .describe =
                            [](const VisionConfig& config) {
                                nlohmann::json json = visionConfigJson(config);
                                if (config.image.height == config.image.width) json["image_size"] = config.image.height;
                                json["model_type"] = "vit";
                                json["architectures"] = {"ViTForImageClassification"};
                                return json;
                            }};

const VisionFamily kDeit{.id = "deit",
                         .title = "DeiT",
                         .modelTypes = {"deit"},
                         .config = deitConfig,
                         .recipe = [](const VisionConfig&, const std::string& parameter, const TensorNames& names) {
                             return recipe("deit.", parameter, names);
                         }};

} // namespace attn
