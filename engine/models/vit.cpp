#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/trainable_family.h"
#include "engine/models/vision_family.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// ViT and its distilled relative DeiT. DINO has the files of ViT. Tensor names follow Hugging Face's files.
// @source Dosovitskiy et al. 2021, arXiv:2010.11929; Touvron et al. 2021, "Training data-efficient image transformers",
// arXiv:2012.12877, section 4; Caron et al. 2021, "DINO", arXiv:2104.14294

namespace attn {
namespace {

ModelSpec common(const ConfigReader& read) {
    ModelSpec config = visionConfigOf(read);
    config.feedForward.width = read.size("intermediate_size", 4 * config.modelWidth);
    return config;
}

ModelSpec vitConfig(const ConfigReader& read, const TensorNames& names) {
    ModelSpec config = common(read);
    if (names.contains("classifier.weight")) config.readouts.front().classes = names.rowsOf("classifier.weight");
    return config;
}

ModelSpec deitConfig(const ConfigReader& read, const TensorNames& names) {
    ModelSpec config = common(read);
    config.patches.distillationToken = true;
    config.readouts.front().distillationHead = names.contains("distillation_classifier.weight");
    for (const char* head : {"cls_classifier.weight", "classifier.weight"})
        if (names.contains(head)) config.readouts.front().classes = names.rowsOf(head);
    return config;
}

WeightRecipe recipe(std::string_view prefix, const ModelSpec& config, const std::string& parameter,
                    const TensorNames& names) {
    static const NameTable kHeads{{"head.H", "classifier"}, {"distillation_head.H", "distillation_classifier"}};
    const FamilyNames all{.prefix = prefix,
                          .global = {{"embed.E", "embeddings.patch_embeddings.projection"},
                                     {"embed.cls", "embeddings.cls_token"},
                                     {"embed.distillation", "embeddings.distillation_token"},
                                     {"pos_embed.W_pos", "embeddings.position_embeddings"},
                                     {"ln_final", "layernorm"}},
                          .blocks = "encoder.layer.",
                          .inBlock = {{"ln1", "layernorm_before"},
                                      {"ln2", "layernorm_after"},
                                      {"attn.Q", "attention.attention.query"},
                                      {"attn.K", "attention.attention.key"},
                                      {"attn.V", "attention.attention.value"},
                                      {"attn.O", "attention.output.dense"},
                                      {"mlp.in", "intermediate.dense"},
                                      {"mlp.out", "output.dense"}}};
    if (parameter.find("head.") != std::string::npos) {
        const std::string name = lookUp(kHeads, parameter); // DeiT with two classifiers names the first after its token
        return {.source = names.contains("cls_" + name) ? "cls_" + name : name};
    }
    WeightRecipe result{.source = all.tensorOf(parameter, names), .flattened = splitName(parameter).layer < 0};
    const PatchEmbedding& patches = config.patches;
    if (parameter == "embed.W_E") result.extents = {config.modelWidth, patches.channels, patches.patch, patches.patch};
    return result;
}

} // namespace

const ModelFamily kVit{.id = "vit",
                       .title = "Vision Transformer",
                       .axis = AxisKind::Patches,
                       .modelTypes = {"vit"},
                       .config = vitConfig,
                       .recipe = [](const ModelSpec& config, const std::string& parameter,
                                    const TensorNames& names) { return recipe("vit.", config, parameter, names); },
                       .describe =
                           [](const ModelSpec& config) {
                               nlohmann::json json = visionConfigJson(config);
                               if (config.patches.image.height == config.patches.image.width)
                                   json["image_size"] = config.patches.image.height;
                               json["model_type"] = "vit";
                               json["architectures"] = {"ViTForImageClassification"};
                               return json;
                           },
                       .prefix = "vit.",
                       .unprefixed = {"classifier"},
                       .leftovers = {"*pooler.dense.*", "*mask_token"}};

const ModelFamily kDeit{.id = "deit",
                        .title = "DeiT",
                        .axis = AxisKind::Patches,
                        .modelTypes = {"deit"},
                        .config = deitConfig,
                        .recipe = [](const ModelSpec& config, const std::string& parameter,
                                     const TensorNames& names) { return recipe("deit.", config, parameter, names); },
                        .leftovers = {"*pooler.dense.*", "*mask_token"}};

const TrainableFamily kTrainsVit{
    .id = "vit",
    .title = "Vision Transformer: reads patches of a picture",
    .axis = AxisKind::Patches,
    .looksAhead = true,
    .mayLackBiases = true,
    .positions = {"learned", "sinusoidal", "none"},
    .check = [](const Architecture& a) -> std::optional<ArchitectureProblem> {
        const bool hasGrid = a.window > 0 || a.merges > 0;
        if (hasGrid && a.pooling != "mean")
            return ArchitectureProblem{"pooling", "windows and merges need a model without a CLS token", "choose mean"};
        if (hasGrid && a.pooledTokens > 0)
            return ArchitectureProblem{"pooled_tokens", "windows and merges need a grid, but pooled tokens have none",
                                       "choose 0"};
        if (a.merges >= a.layers)
            return ArchitectureProblem{"merges",
                                       fmt::format("{} layers have only {} gaps for merges", a.layers, a.layers - 1),
                                       "choose fewer merges or more layers"};
        if (a.pooledTokens > 0 && a.layers < 2)
            return ArchitectureProblem{"pooled_tokens", "pooling needs at least two layers", "choose more layers"};
        if (a.positions == "sinusoidal" && a.width % 4 != 0)
            return ArchitectureProblem{"width", "sinusoidal positions of a picture need a multiple of 4"};
        return {};
    }};

} // namespace attn
