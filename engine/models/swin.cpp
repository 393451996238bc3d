#include "engine/core/error.h"
#include "engine/models/families.h"
#include "engine/models/hook_names.h"
#include "engine/models/recipes.h"
#include "engine/models/vision_family.h"

#include <fmt/format.h>

#include <cmath>

// Swin: windows that shift from layer to layer, a learned bias by the offset between two patches, and stages that merge
// patches. Tensor names follow Hugging Face's files.
// @source Liu et al. 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows", arXiv:2103.14030

namespace attn {
namespace {

constexpr int64_t kMostStages = 8;
constexpr const char* kBody = "swin.";

std::vector<int64_t> wholeNumbers(const ConfigReader& read, const char* field) {
    const auto numbers = read.wholeNumbers(field);
    if (!numbers || numbers->empty() || static_cast<int64_t>(numbers->size()) > kMostStages)
        read.fail(field, fmt::format("is not a list of 1 to {} whole numbers, one per stage", kMostStages));
    if (!std::ranges::all_of(*numbers, [](int64_t number) { return number >= 1 && number <= 4096; }))
        read.fail(field, "contains values other than whole numbers from 1 to 4096");
    return *numbers;
}

struct Place {
    int64_t stage = 0, block = 0;
};
Place placeOf(const ModelSpec& config, int64_t layer) {
    const int64_t stage = config.patches.mergesUpTo(layer);
    return {stage, stage == 0 ? layer : layer - config.patches.merges[static_cast<size_t>(stage - 1)]};
}
std::string blockName(const Place& at) { return fmt::format("encoder.layers.{}.blocks.{}.", at.stage, at.block); }

/// The window size of a layer, from its bias table, which has (2 side - 1)^2 rows. @throws Error naming the table
int64_t windowSide(const TensorNames& names, const Place& at, int64_t fallback) {
    const std::string table = names.resolve(kBody, blockName(at) + "attention.self.relative_position_bias_table");
    if (!names.contains(table)) return fallback; // reported with other missing tensors
    const int64_t rows = names.rowsOf(table);
    const auto side = static_cast<int64_t>(std::lround((std::sqrt(static_cast<double>(rows)) + 1) / 2));
    if (side < 1 || (2 * side - 1) * (2 * side - 1) != rows)
        throw Error({.what = fmt::format("has {} rows, which is not the square of an odd number", rows),
                     .where = table,
                     .hint = "a bias table has one row per offset between two places of a window"});
    return side;
}

ModelSpec config(const ConfigReader& read, const TensorNames& names) {
    const std::vector<int64_t> depths = wholeNumbers(read, "depths"), heads = wholeNumbers(read, "num_heads");
    if (heads.size() != depths.size())
        read.fail("num_heads", fmt::format("has {} stages, but depths has {}", heads.size(), depths.size()));
    const ImageSize image = sizeField(read, "image_size", 224), patch = sizeField(read, "patch_size", 4);
    requireSquarePatches(read, image, patch);
    const double ratio = read.number("mlp_ratio", 4);
    if (!(ratio > 0 && ratio <= 64)) read.fail("mlp_ratio", "leaves no room for a feed-forward layer");
    const int64_t width = read.size("embed_dim", 96), window = read.size("window_size", 7);
    ModelSpec config = pictureSpec();
    config.patches.image = image;
    config.patches.patch = patch.height;
    config.patches.channels = channelsField(read);
    config.modelWidth = width;
    config.patches.clsToken = false;
    config.positions = read.flag("use_absolute_embeddings", false) ? Positions::Learned : Positions::None;
    config.normEpsilon = read.number("layer_norm_eps", 1e-5);
    config.embeddingNorm = true;
    config.feedForward = {.width = static_cast<int64_t>(static_cast<double>(width) * ratio),
                          .activation = read.activation("hidden_act", "gelu")};
    config.readouts.front().pooling = PatchPooling::Mean;
    for (size_t stage = 0; stage < depths.size(); ++stage) {
        if (stage > 0) config.patches.merges.push_back(static_cast<int64_t>(config.layers.size()));
        for (int64_t block = 0; block < depths[stage]; ++block) {
            const auto layers =
                visionLayers(read, "num_heads", width << stage, heads[stage], 1, read.flag("qkv_bias", true));
            LayerAttention& layer = config.layers.emplace_back(layers.front());
            const int64_t side = windowSide(names, {static_cast<int64_t>(stage), block}, window);
            const auto number = [](int64_t value) { return static_cast<double>(value); };
            layer.spec.set(Slot::Position, "grid_bias",
                           std::array{number(side), number(side), number(std::max<int64_t>(side - 1, 1))});
            config.patches.windows.push_back({.size = side, .shift = block % 2 == 0 ? 0 : side / 2});
        }
    }
    if (names.contains("classifier.weight")) config.readouts.front().classes = names.rowsOf("classifier.weight");
    return config;
}

WeightRecipe recipe(const ModelSpec& config, const std::string& parameter, const TensorNames& names) {
    static const NameTable kGlobal{{"embed.E", "embeddings.patch_embeddings.projection"},
                                   {"embed.ln", "embeddings.norm"},
                                   {"pos_embed.W_pos", "embeddings.position_embeddings"},
                                   {"ln_final", "layernorm"}};
    static const NameTable kBlock{{"ln1", "layernorm_before"},
                                  {"ln2", "layernorm_after"},
                                  {"attn.position.grid_bias", "attention.self.relative_position_bias_table"},
                                  {"attn.Q", "attention.self.query"},
                                  {"attn.K", "attention.self.key"},
                                  {"attn.V", "attention.self.value"},
                                  {"attn.O", "attention.output.dense"},
                                  {"mlp.in", "intermediate.dense"},
                                  {"mlp.out", "output.dense"}};
    static const NameTable kMerge{{"W", "reduction.weight"}, {"ln", "norm"}}, kHead{{"head.H", "classifier"}};
    if (parameter.starts_with("head.")) return {.source = lookUp(kHead, parameter)};
    if (const auto [merge, rest] = splitName(parameter, "merge."); merge >= 0)
        return {.source = names.resolve(kBody, fmt::format("encoder.layers.{}.downsample.{}",
                                                           placeOf(config, merge).stage - 1, lookUp(kMerge, rest)))};
    if (const auto [layer, rest] = splitName(parameter); layer >= 0)
        return {.source = names.resolve(kBody, blockName(placeOf(config, layer)) + lookUp(kBlock, rest))};
    return {.source = names.resolve(kBody, lookUp(kGlobal, parameter)), .flattened = true};
}

} // namespace

const ModelFamily kSwin{.id = "swin",
                        .title = "Swin Transformer",
                        .axis = AxisKind::Patches,
                        .modelTypes = {"swin"},
                        .config = config,
                        .recipe = recipe,
                        .leftovers = {"*relative_position_index", "*attn_mask", "*mask_token"},
                        .spareFields = {"hidden_size", "num_layers"}};

} // namespace attn
