#include "engine/core/error.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/timm_architectures.h"
#include "engine/models/vision_family.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

// Vision transformers in the format of timm (vit_base_patch16_224, deit_*_distilled_*, vit_*_reg4_dinov2): a state dict
// and a config that names an architecture. What tensors do not show comes from model_args, or from a table of names.
// @source Wightman, "PyTorch Image Models", https://github.com/huggingface/pytorch-image-models, vision_transformer.py

namespace attn {
namespace {

bool recognises(const TensorNames& names) {
    return names.contains("patch_embed.proj.weight") && names.contains("blocks.0.attn.qkv.weight");
}

bool isSquare(int64_t count) {
    const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(count))));
    return side * side == count;
}

/// Refuses tensors of variants that this program does not support.
void refuseVariations(const TensorNames& names) {
    for (const std::string& name : names.weights().names())
        for (const char* part :
             {"q_norm", "norm_pre", "attn_pool", "rel_pos", "relative_position", "attn.norm", "mlp.norm", "attn.q_bias",
              "gamma_1", "attn.lambda", "attn.sub_norm", "patch_embed.norm", "patch_embed.backbone", "mlp.fc1_g"})
            if (name.find(part) != std::string::npos)
                throw Error({.what = fmt::format("tensor \"{}\" belongs to a variant that is not supported", name),
                             .where = names.weights().fileOf(name).string(),
                             .hint = "choose a plain timm vit, deit or dinov2"});
}

const nlohmann::json& noArguments() {
    static const nlohmann::json kNone = nlohmann::json::object();
    return kNone;
}

/// The arguments that timm builds the model with.
ConfigReader argumentsOf(const ConfigReader& read) {
    return read.hasObject("model_args") ? read.object("model_args") : ConfigReader(noArguments(), "config.json");
}

/// What the architecture's name stands for, with the number of heads of model_args, which wins.
/// @throws Error if the name is in no table and model_args does not say the heads, or if the computation is not known
TimmArchitecture architectureOf(const ConfigReader& read, const ConfigReader& args, int64_t width,
                                std::vector<std::string>& remarks) {
    const std::string name = read.text("architecture", "");
    const std::optional<TimmArchitecture> known = timmArchitecture(name);
    const bool saysHeads = args.has("num_heads") || read.has("num_heads");
    constexpr const char* kSay = "say num_heads in model_args, for example \"model_args\": {\"num_heads\": 12}";
    if (!known && !saysHeads)
        read.fail("architecture",
                  name.empty() ? std::string("is missing, and without it the number of heads is not known")
                               : fmt::format("is \"{}\", which is in no table of this program, so its number of heads "
                                             "is not known",
                                             name),
                  kSay);
    if (known && !known->obstacle.empty())
        read.fail("architecture", fmt::format("is \"{}\", which cannot be computed: {}", name, known->obstacle),
                  "choose a plain timm vit, deit or dinov2");
    if (known && known->width != width && !saysHeads)
        read.fail(
            "architecture",
            fmt::format("is \"{}\" of width {}, but the tensors have width {}, so the number of heads is not known",
                        name, known->width, width),
            kSay);
    if (!known)
        remarks.push_back(
            fmt::format("the architecture \"{}\" is in no table of this program: it is computed as timm's "
                        "plain vision transformer",
                        name));
    TimmArchitecture result = known.value_or(TimmArchitecture{.width = width});
    if (saysHeads) result.heads = (args.has("num_heads") ? args : read).size("num_heads");
    return result;
}

Activation activationOf(const ConfigReader& args, const TimmArchitecture& architecture) {
    if (!args.has("act_layer")) return architecture.activation;
    const std::string name = args.text("act_layer", "");
    return name == "gelu_tanh" ? Activation::GeluTanh : args.activationNamed("act_layer", name);
}

const Part* normOf(const ConfigReader& args, const TimmArchitecture& architecture) {
    if (!args.has("norm_layer")) return architecture.norm;
    const std::string name = args.text("norm_layer", "");
    if (name == "layernorm") return &kLayerNormPart;
    if (name == "rmsnorm") return &kRmsNormPart;
    args.fail("norm_layer", fmt::format("is \"{}\"", name), "supported: layernorm, rmsnorm");
}

/// Checks the arguments against the tensors, and refuses those that ask for another computation.
/// @param hidden rows of the first matrix of the MLP
void checkArguments(const ConfigReader& args, const ModelSpec& config, int64_t hidden, bool hasQkvBias,
                    std::vector<std::string>& remarks) {
    const auto differs = [&](const char* field, const auto& asked, const auto& found) {
        if (asked != found)
            args.fail(field, fmt::format("is {}, but the tensors say {}", asked, found),
                      "give the config.json that belongs to the weights");
    };
    const auto count = [&](const char* field, int64_t found) {
        if (args.has(field) && !args.json().at(field).is_array() && args.json().at(field) != 0)
            differs(field, args.size(field), found);
    };
    const auto flag = [&](const char* field, bool found) {
        if (args.has(field)) differs(field, args.flag(field, found), found);
    };
    count("embed_dim", config.modelWidth);
    count("depth", config.lastLayer() + 1);
    count("patch_size", config.patches.patch);
    count("in_chans", config.patches.channels);
    count("reg_tokens", config.patches.registers);
    if (args.has("mlp_ratio"))
        differs("mlp_ratio", static_cast<int64_t>(static_cast<double>(config.modelWidth) * args.number("mlp_ratio", 4)),
                hidden);
    if (args.has("init_values"))
        differs("init_values", args.number("init_values", 0) != 0, config.residual == &kLayerScaleResidual);
    flag("class_token", config.patches.clsToken);
    flag("qkv_bias", hasQkvBias);
    flag("proj_bias", config.feedForward.bias);
    flag("fc_norm", config.classReadout().normAfterPooling);
    if (config.patches.positioned() + config.patches.registers > 0)
        flag("no_embed_class", !config.patches.prefixPositions);
    for (const char* field : {"pre_norm", "qk_norm", "scale_attn_norm", "scale_mlp_norm", "pool_include_prefix",
                              "dynamic_img_pad", "scale_norm"})
        if (args.flag(field, false))
            args.fail(field, "is true, which this program cannot compute", "choose another model");
    const std::array<std::pair<const char*, std::vector<std::string>>, 6> words{
        {{"attn_layer", {"", "attn", "Attention"}},
         {"block_fn", {"", "Block"}},
         {"mlp_layer", {"", "Mlp", "SwiGLUPacked"}},
         {"pos_embed", {"learn"}},
         {"embed_layer", {"", "PatchEmbed"}},
         {"embed_norm_layer", {""}}}};
    for (const auto& [field, plain] : words)
        if (args.has(field) && std::ranges::find(plain, args.text(field, "")) == plain.end())
            args.fail(field, fmt::format("is \"{}\", which this program cannot compute", args.text(field, "")),
                      "choose another model");
    static constexpr std::array<std::string_view, 40> kRead{"embed_dim",
                                                            "depth",
                                                            "patch_size",
                                                            "in_chans",
                                                            "reg_tokens",
                                                            "mlp_ratio",
                                                            "init_values",
                                                            "class_token",
                                                            "qkv_bias",
                                                            "proj_bias",
                                                            "fc_norm",
                                                            "no_embed_class",
                                                            "pre_norm",
                                                            "qk_norm",
                                                            "scale_attn_norm",
                                                            "scale_mlp_norm",
                                                            "pool_include_prefix",
                                                            "dynamic_img_pad",
                                                            "scale_norm",
                                                            "attn_layer",
                                                            "block_fn",
                                                            "mlp_layer",
                                                            "pos_embed",
                                                            "embed_layer",
                                                            "embed_norm_layer",
                                                            "num_heads",
                                                            "num_classes",
                                                            "global_pool",
                                                            "img_size",
                                                            "act_layer",
                                                            "norm_layer",
                                                            "final_norm", // below: they change nothing at inference
                                                            "dynamic_img_size",
                                                            "strict_img_size",
                                                            "drop_rate",
                                                            "drop_path_rate",
                                                            "weight_init",
                                                            "fix_init",
                                                            "attn_drop_rate",
                                                            "proj_drop_rate"};
    for (const auto& [field, value] : args.json().items()) {
        args.pass(field.c_str()); // named here if it is not obeyed
        if (std::ranges::find(kRead, field) == kRead.end() && field != "pos_drop_rate" && field != "patch_drop_rate" &&
            !value.is_null() && value != false)
            remarks.push_back(
                fmt::format("config.json: \"model_args\" has \"{}\", which this program does not obey", field));
    }
}

/// Sets the grid of the table of positions, and which tokens have rows in it.
/// @param rows of the table
void readPositions(const ConfigReader& read, const TensorNames& names, const ConfigReader& args,
                   const TimmArchitecture& architecture, int64_t rows, ModelSpec& config) {
    const int64_t prefix = config.patches.prefix();
    const std::optional<ImageSize> asked = timmImageSize(read);
    const ImageSize grid =
        asked ? ImageSize{asked->height / config.patches.patch, asked->width / config.patches.patch} : ImageSize{};
    bool hasPrefix = architecture.hasPrefixPositions;
    if (args.has("no_embed_class"))
        hasPrefix = !args.flag("no_embed_class", false);
    else if (grid.area() > 0 && (rows == grid.area() || rows == grid.area() + prefix))
        hasPrefix = rows != grid.area();
    else if (!isSquare(rows - (hasPrefix ? prefix : 0)) && isSquare(rows - (hasPrefix ? 0 : prefix)))
        hasPrefix = !hasPrefix;
    config.patches.prefixPositions = hasPrefix && prefix > 0;
    config.patches.registerPositions = config.patches.prefixPositions && config.patches.registers > 0;
    const int64_t patches = rows - (hasPrefix ? prefix : 0);
    if (grid.area() > 0 && patches == grid.area()) {
        config.patches.image = {grid.height * config.patches.patch, grid.width * config.patches.patch};
        return;
    }
    if (patches < 1 || !isSquare(patches))
        throw Error({.what = fmt::format("tensor \"pos_embed\" has {} positions: {} for patches, which is not a square "
                                         "number, and {} for the tokens before them",
                                         rows, patches, rows - patches),
                     .where = names.weights().fileOf("pos_embed").string(),
                     .hint = "set pretrained_cfg.input_size in config.json to the image size, and no_embed_class in "
                             "model_args if the tokens before the patches have no positions"});
    const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(patches))));
    config.patches.image = {side * config.patches.patch, side * config.patches.patch};
}

/// @param usual of the architecture
PatchPooling poolingOf(const ConfigReader& read, const ConfigReader& args, const std::string& usual,
                       ModelSpec& config) {
    std::string pool = args.text("global_pool", read.text("global_pool", usual));
    if (pool.empty() && config.classReadout().classes > 0)
        read.fail("global_pool", "is \"\", so the classifier reads no single token", "supported: token, avg");
    if (pool.empty()) pool = config.patches.clsToken ? "token" : "avg";
    if (pool != "avg" && pool != "token")
        read.fail("global_pool", fmt::format("is \"{}\"", pool), "supported: token, avg");
    if (pool == "token" && !config.patches.clsToken) {
        if (args.has("global_pool"))
            args.fail("global_pool", "is \"token\", but the model has no class token", "write avg");
        config.remarks.emplace_back("config.json: \"global_pool\" is \"token\", but the model has no class token; the "
                                    "classifier reads the mean of the patches");
        pool = "avg";
    }
    return pool == "avg" ? PatchPooling::Mean : PatchPooling::Cls;
}

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const ConfigReader args = argumentsOf(read);
    refuseVariations(names);
    const auto shapeOf = [&](const std::string& name, size_t rank) {
        const StoredTensor& tensor = names.weights().tensor(name);
        if (tensor.shape.size() != rank || std::ranges::find(tensor.shape, 0) != tensor.shape.end())
            throw Error({.what = fmt::format("tensor \"{}\" is {} but should have {} axes", name,
                                             Shape(tensor.shape).text(), rank),
                         .where = names.weights().fileOf(name).string(),
                         .hint = "check that the file is a timm model"});
        return tensor.shape;
    };
    const auto patches = shapeOf("patch_embed.proj.weight", 4), positions = shapeOf("pos_embed", 3);
    const auto inner = shapeOf("blocks.0.mlp.fc1.weight", 2), outer = shapeOf("blocks.0.mlp.fc2.weight", 2);
    ModelSpec config = pictureSpec();
    config.patches.patch = patches[2];
    config.patches.channels = patches[1];
    config.modelWidth = patches[0];
    if (patches[2] != patches[3] || (config.patches.channels != 1 && config.patches.channels != 3))
        throw Error(
            {.what = fmt::format("tensor \"patch_embed.proj.weight\" reads patches of {} x {} pixels and {} channels",
                                 patches[3], patches[2], config.patches.channels),
             .where = names.weights().fileOf("patch_embed.proj.weight").string(),
             .hint = "choose a model with square patches of 3 channels (colour) or 1 (grey)"});
    const TimmArchitecture architecture = architectureOf(read, args, config.modelWidth, config.remarks);
    config.patches.clsToken = names.contains("cls_token");
    config.patches.distillationToken = names.contains("dist_token");
    if (names.contains("reg_token")) config.patches.registers = shapeOf("reg_token", 3)[1];
    readPositions(read, names, args, architecture, positions[1], config);
    config.norm = normOf(args, architecture);
    if (names.contains("blocks.0.ls1.gamma")) config.residual = &kLayerScaleResidual;
    config.feedForward = {.width = outer[1],
                          .activation = activationOf(args, architecture),
                          .gated = inner[0] == 2 * outer[1],
                          .bias = names.contains("blocks.0.mlp.fc1.bias")};
    if (names.contains("head.weight")) config.readouts.front().classes = names.rowsOf("head.weight");
    config.readouts.front().distillationHead = config.patches.distillationToken && names.contains("head_dist.weight");
    config.readouts.front().normAfterPooling = names.contains("fc_norm.weight");
    // vit_intern300m has no final norm.
    config.finalNorm = args.flag("final_norm", !read.text("architecture", "").starts_with("vit_intern300m_"));
    config.readouts.front().pooling = poolingOf(read, args, architecture.pool, config);
    int64_t layers = 0;
    while (names.contains(fmt::format("blocks.{}.attn.qkv.weight", layers))) ++layers;
    const bool hasQkvBias = names.contains("blocks.0.attn.qkv.bias");
    config.layers = visionLayers(read, "num_heads", config.modelWidth, architecture.heads, layers, hasQkvBias);
    for (LayerAttention& layer : config.layers) layer.outputBias = names.contains("blocks.0.attn.proj.bias");
    checkArguments(args, config, inner[0], hasQkvBias, config.remarks);
    return config;
}

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    const FamilyNames all{.prefix = "",
                          .global = {{"embed.E", "patch_embed.proj"},
                                     {"embed.cls", "cls_token"},
                                     {"embed.distillation", "dist_token"},
                                     {"embed.registers", "reg_token"},
                                     {"pos_embed.W_pos", "pos_embed"},
                                     {"ln_final", config.classReadout().normAfterPooling ? "fc_norm" : "norm"},
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

const ModelFamily kTimmVit{.id = "timm_vit",
                           .title = "Vision Transformer of timm",
                           .axis = AxisKind::Patches,
                           .modelTypes = {},
                           .recognises = recognises,
                           .config = config,
                           .recipe = recipe,
                           .positionFilter = GridFilter::AntialiasedBicubic};

} // namespace attn
