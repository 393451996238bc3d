#include "engine/models/vision_writer.h"

#include "engine/core/error.h"
#include "engine/io/decode_image.h"
#include "engine/io/tensor_writer.h"
#include "engine/models/decoder.h"
#include "engine/models/vision_encoder.h"
#include "engine/models/vision_family.h"
#include "engine/system/atomic_file.h"
#include "engine/system/folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace attn {
namespace {

nlohmann::json describe(const VisionConfig& config, const std::vector<std::string>& labels) {
    nlohmann::json json = writtenFamily(config).describe(config);
    nlohmann::json ids = nlohmann::json::object(), names = nlohmann::json::object();
    for (size_t i = 0; i < labels.size(); ++i) {
        ids[std::to_string(i)] = labels[i];
        names[labels[i]] = i;
    }
    json["id2label"] = ids;
    json["label2id"] = names;
    return json;
}

nlohmann::json describe(const ImagePreprocessing& preprocessing, const ImageSize& size) {
    return {{"image_processor_type", "ViTImageProcessor"},
            {"do_resize", true},
            {"size", {{"height", size.height}, {"width", size.width}}},
            {"resample", 2}, // bilinear
            {"do_rescale", true},
            {"rescale_factor", preprocessing.factor},
            {"do_normalize", true},
            {"image_mean", preprocessing.mean},
            {"image_std", preprocessing.deviation}};
}

/// The shape in the file, which may have leading axes of 1 and the axes of a convolution.
std::vector<int64_t> storedShape(const VisionConfig& config, const std::string& parameter, const Shape& shape,
                                 bool isFlattened) {
    if (!isFlattened || shape.rank() == 1) return asMatrix(shape).extents();
    if (parameter == "embed.W_E") return {config.modelWidth, config.channels, config.patch, config.patch};
    std::vector<int64_t> extents{1};
    for (const int64_t extent : shape.extents()) extents.push_back(extent);
    return extents;
}

/// A parameter's place in a written file.
WeightRecipe placedBy(const VisionFamily& family, const VisionConfig& config, const std::string& parameter) {
    WeightRecipe recipe = family.recipe(config, parameter, TensorNames({}));
    if (parameter.find("head.") == std::string::npos) recipe.source.insert(0, family.prefix);
    return recipe;
}

} // namespace

const VisionFamily& writtenFamily(const VisionConfig& config) {
    const bool isPlain = hasPlainAttention(config) && config.pooling == VisionPooling::Cls &&
                         !config.distillationToken && config.registers == 0 && config.windows.empty() &&
                         config.merges.empty() && config.pools.empty() && config.positions == VisionPositions::Learned;
    return isPlain ? kVit : kComposedVit;
}

std::optional<WeightRecipe> placeInFile(const VisionConfig& config, const std::string& parameter) {
    const VisionFamily& family = writtenFamily(config);
    return family.id == kComposedVit.id ? std::nullopt : std::optional(placedBy(family, config, parameter));
}

void requireWritable(const VisionConfig& config, const std::string& where) {
    if (config.classes == 0)
        throw Error({.what = "has no classifier, which training on labelled pictures needs",
                     .where = where,
                     .hint = "choose a model that classifies pictures"});
    if (config.family != writtenFamily(config).id)
        throw Error(
            {.what = fmt::format("the program cannot write models of the family \"{}\"", config.family),
             .where = where,
             .hint = "choose a plain vision transformer (ViT), or a model that was trained with Attention Lab"});
}

std::string visionConfigText(const VisionConfig& config, const std::vector<std::string>& labels) {
    return describe(config, labels).dump(2);
}

void writeVisionFolder(const std::filesystem::path& folder, const VisionConfig& config, const VisionFolderText& text,
                       const std::function<std::vector<float>(const std::string&)>& read) {
    const ModelGraph encoder = buildVisionEncoder(config);
    std::vector<std::vector<float>> values;
    std::vector<WrittenTensor> written;
    for (const Node* node : storedParameters(*encoder.graph)) {
        const WeightRecipe recipe = placedBy(writtenFamily(config), config, node->name);
        written.push_back({.name = recipe.source,
                           .shape = storedShape(config, node->name, node->outputs[0].shape, recipe.flattened)});
        values.push_back(read(node->name));
    }
    for (size_t i = 0; i < written.size(); ++i) written[i].values = values[i];
    createFolder(folder);
    writeSafetensors(folder / "model.safetensors", written, {{"format", "pt"}});
    writeAtomically(folder / "preprocessor_config.json", describe(text.preprocessing, config.image).dump(2) + "\n");
    if (!text.examples.empty()) createFolder(folder / "examples");
    for (const auto& [name, image] : text.examples) writePpm(folder / "examples" / (name + ".ppm"), image);
    writeAtomically(folder / "config.json", visionConfigText(config, text.labels) + "\n");
}

} // namespace attn
