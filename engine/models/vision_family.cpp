#include "engine/models/vision_family.h"

#include "engine/attention/head_counts.h"
#include "engine/core/error.h"
#include "engine/models/families.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace attn {
namespace {

/// The largest side in pixels, more than any model reads.
constexpr int64_t kMostPixels = 8192;
constexpr int64_t kMostTokens = 1 << 16;

} // namespace

ImageSize sizeField(const ConfigReader& read, const char* field, int64_t fallback) {
    const nlohmann::json* value = read.value(field);
    ImageSize size{};
    if (value != nullptr && value->is_array()) {
        if (value->size() != 2 || !(*value)[0].is_number_integer() || !(*value)[1].is_number_integer())
            read.fail(field, "must be a list of a height and a width");
        size = {(*value)[0].get<int64_t>(), (*value)[1].get<int64_t>()};
    } else {
        size.height = size.width = read.size(field, fallback);
    }
    if (std::min(size.height, size.width) < 1 || std::max(size.height, size.width) > kMostPixels)
        read.fail(field, fmt::format("is {} x {} but sides must be from 1 to {} pixels", size.width, size.height,
                                     kMostPixels));
    return size;
}

std::vector<LayerAttention> visionLayers(const ConfigReader& read, const char* headsField, int64_t width, int64_t heads,
                                         int64_t layers, bool queryKeyValueBias) {
    if (width % heads != 0)
        read.fail(headsField, fmt::format("is {}, which does not divide the width {}", heads, width));
    LayerAttention layer = visionLayer(width, heads);
    layer.queryKeyValueBias = queryKeyValueBias;
    return std::vector<LayerAttention>(static_cast<size_t>(layers), layer);
}

LayerAttention visionLayer(int64_t width, int64_t heads, std::optional<AttentionSpec> spec) {
    if (!spec) spec = plainAttention({heads, heads}, {});
    heads = headCounts(*spec).heads;
    if (width % heads != 0)
        throw Error({.what = fmt::format("{} heads do not divide the width {}", heads, width),
                     .where = "layers of a vision model",
                     .hint = "choose a width that is a multiple of the number of heads"});
    return {.spec = std::move(*spec), .headWidth = width / heads, .queryKeyValueBias = true, .outputBias = true};
}

bool hasPlainAttention(const ModelSpec& config) {
    return std::ranges::all_of(config.layers, [](const LayerAttention& layer) {
        const int64_t heads = layer.heads().heads;
        return layer.spec == plainAttention({heads, heads}, {});
    });
}

const ModelFamily& writtenFamily(const ModelSpec& config) {
    const bool isPlain = hasPlainAttention(config) && config.classReadout().pooling == PatchPooling::Cls &&
                         config.patches == PatchEmbedding{.image = config.patches.image,
                                                          .patch = config.patches.patch,
                                                          .channels = config.patches.channels} &&
                         config.positions == Positions::Learned;
    return isPlain ? kVit : kComposedVit;
}

void requireSquarePatches(const ConfigReader& read, const ImageSize& image, const ImageSize& patch) {
    if (patch.height != patch.width)
        read.fail("patch_size",
                  fmt::format("is {} x {} but only square patches are supported", patch.width, patch.height));
    if (image.height % patch.height != 0 || image.width % patch.width != 0)
        read.fail("image_size", fmt::format("is {} x {}, which patches of {} x {} do not divide", image.width,
                                            image.height, patch.width, patch.height));
    if (image.area() / patch.area() > kMostTokens)
        read.fail("patch_size", fmt::format("cuts the image into {} patches; at most {} are supported",
                                            image.area() / patch.area(), kMostTokens));
}

int64_t channelsField(const ConfigReader& read) {
    const int64_t channels = read.size("num_channels", 3);
    if (channels != 1 && channels != 3)
        read.fail("num_channels", fmt::format("is {} but pictures have 3 channels (colour) or 1 (grey)", channels),
                  "choose a model that reads pictures");
    return channels;
}

ModelSpec visionConfigOf(const ConfigReader& read, int64_t usualPatch) {
    const ImageSize image = sizeField(read, "image_size", 224), patch = sizeField(read, "patch_size", usualPatch);
    requireSquarePatches(read, image, patch);
    const int64_t width = read.size("hidden_size", 768);
    ModelSpec config = pictureSpec();
    config.patches.image = image;
    config.patches.patch = patch.height;
    config.patches.channels = channelsField(read);
    config.modelWidth = width;
    config.normEpsilon = read.number("layer_norm_eps", 1e-12);
    config.feedForward = {.activation = read.activation("hidden_act", "gelu")};
    config.layers = visionLayers(read, "num_attention_heads", width, read.size("num_attention_heads", 12),
                                 read.size("num_hidden_layers", 12), read.flag("qkv_bias", true));
    return config;
}

nlohmann::json visionConfigJson(const ModelSpec& config) {
    const LayerAttention& layer = *std::ranges::max_element(
        config.layers, {}, [](const LayerAttention& of) { return mixesStream(of.spec) ? 0 : 1; });
    return {{"image_size", {config.patches.image.height, config.patches.image.width}},
            {"patch_size", config.patches.patch},
            {"num_channels", config.patches.channels},
            {"hidden_size", config.modelWidth},
            {"intermediate_size", config.feedForward.width},
            {"hidden_act", activationName(config.feedForward.activation)},
            {"layer_norm_eps", config.normEpsilon},
            {"num_attention_heads", layer.heads().heads},
            {"num_hidden_layers", config.layers.size()},
            {"qkv_bias", layer.queryKeyValueBias}};
}

} // namespace attn
