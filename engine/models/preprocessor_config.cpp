#include "engine/models/preprocessor_config.h"

#include "engine/io/json_file.h"
#include "engine/models/config_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLongestPictureSide = 8192; ///< on a side

/// One number per channel; a single number applies to all. @param smallest exclusive lower limit
std::vector<double> perChannel(const ConfigReader& read, const char* field, double fallback, int64_t channels,
                               double smallest) {
    std::vector<double> values(static_cast<size_t>(channels), fallback);
    if (!read.has(field)) return values;
    const nlohmann::json& json = read.json().at(field);
    const nlohmann::json list = json.is_array() ? json : nlohmann::json::array({json});
    if (list.size() != 1 && static_cast<int64_t>(list.size()) != channels)
        read.fail(field, fmt::format("has {} numbers but the model reads {} channels", list.size(), channels));
    for (size_t i = 0; i < values.size(); ++i) {
        const nlohmann::json& value = list[list.size() == 1 ? 0 : i];
        if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= smallest)
            read.fail(field, fmt::format("contains {}, which is not a valid number", shownJson(value)));
        values[i] = value.get<double>();
    }
    return values;
}

/// The numbers of filters in Pillow.
ResampleFilter filterOf(const ConfigReader& read, double fallback) {
    constexpr std::array kFilters{ResampleFilter::Nearest, ResampleFilter::Lanczos, ResampleFilter::Bilinear,
                                  ResampleFilter::Bicubic};
    const double code = read.number("resample", fallback);
    for (size_t i = 0; i < kFilters.size(); ++i)
        if (code == static_cast<double>(i)) return kFilters[i];
    read.fail("resample", fmt::format("is {}", code), "supported: 0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic");
}

/// {"height", "width"}, or a number or {"shortest_edge"} for a square.
ImageSize fixedSize(const ConfigReader& read, const char* field) {
    ImageSize result{};
    if (!read.json().at(field).is_object()) {
        result.height = result.width = read.size(field);
    } else {
        const ConfigReader size = read.object(field);
        const bool hasBoth = size.has("height") || size.has("width");
        result = {size.size(hasBoth ? "height" : "shortest_edge"), size.size(hasBoth ? "width" : "shortest_edge")};
    }
    if (std::max(result.height, result.width) > kLongestPictureSide)
        read.fail(field, fmt::format("is {} x {} but sides must be at most {} pixels", result.width, result.height,
                                     kLongestPictureSide));
    return result;
}

void readResize(const ConfigReader& read, const ImageSize& trained, ImagePreprocessing& result) {
    if (!read.flag("do_resize", true)) return;
    if (!read.has("size")) {
        result.resize = trained;
        return;
    }
    const nlohmann::json& size = read.json().at("size");
    const std::string type = read.text("image_processor_type", read.text("feature_extractor_type", ""));
    const bool isEdge = size.is_object() ? size.contains("shortest_edge")
                                         : type.starts_with("Bit") || type.starts_with("CLIP"); // a bare number
    if (size.is_object() && !isEdge && !(size.contains("height") && size.contains("width")))
        read.fail("size", fmt::format("is {}", shownJson(size)),
                  "supported: a number, height and width, or shortest_edge");
    if (isEdge)
        result.shortestEdge = fixedSize(read, "size").height;
    else
        result.resize = fixedSize(read, "size");
}

FolderPreprocessing ofHuggingFace(const fs::path& file, const VisionConfig& model) {
    const nlohmann::json json = readJsonFile(file);
    const ConfigReader read(json, file.string());
    FolderPreprocessing folder;
    ImagePreprocessing& result = folder.preprocessing;
    result.channels = model.channels;
    readResize(read, model.image, result);
    result.filter = filterOf(read, 2);
    if (read.has("crop_size") && read.flag("do_center_crop", true)) result.crop = fixedSize(read, "crop_size");
    if (result.shortestEdge && !result.crop) {
        result.crop = ImageSize{*result.shortestEdge, *result.shortestEdge};
        folder.warnings.push_back(fmt::format("{}: pictures keep their aspect ratio and are not cropped; this program "
                                              "reads only the middle {} x {} of each",
                                              file.filename().string(), *result.shortestEdge, *result.shortestEdge));
    }
    result.factor = read.flag("do_rescale", true) ? read.number("rescale_factor", 1.0 / 255) : 1;
    if (!read.flag("do_normalize", true)) return folder;
    result.mean = perChannel(read, "image_mean", 0.5, model.channels, -1e30);
    result.deviation = perChannel(read, "image_std", 0.5, model.channels, 0);
    return folder;
}

/// @source timm's data/transforms_factory.py: the shorter side becomes size / crop_pct, then the middle is cropped
FolderPreprocessing ofTimm(const ConfigReader& read, const VisionConfig& model) {
    FolderPreprocessing folder;
    ImagePreprocessing& result = folder.preprocessing;
    result.channels = model.channels;
    result.crop = model.image;
    const double share = read.number("crop_pct", 0.875);
    if (share <= 0 || share > 1) read.fail("crop_pct", fmt::format("is {} but must be above 0 and at most 1", share));
    const double edge = static_cast<double>(std::max(model.image.height, model.image.width)) / share;
    if (edge > static_cast<double>(kLongestPictureSide))
        read.fail("crop_pct",
                  fmt::format("is {}, which makes pictures larger than {} pixels", share, kLongestPictureSide));
    result.shortestEdge = static_cast<int64_t>(edge);
    const std::string filter = read.text("interpolation", "bilinear");
    if (filter != "bicubic" && filter != "bilinear")
        read.fail("interpolation", fmt::format("is \"{}\"", filter), "supported: bicubic, bilinear");
    result.filter = filter == "bicubic" ? ResampleFilter::Bicubic : ResampleFilter::Bilinear;
    result.mean = perChannel(read, "mean", 0.5, model.channels, -1e30);
    result.deviation = perChannel(read, "std", 0.5, model.channels, 0);
    return folder;
}

} // namespace

FolderPreprocessing readPreprocessing(const fs::path& folder, const nlohmann::json& config, const VisionConfig& model,
                                      FieldLog* log) {
    const fs::path file = folder / "preprocessor_config.json";
    std::error_code error;
    if (fs::exists(fs::symlink_status(file, error))) return ofHuggingFace(file, model);
    const ConfigReader read(config, (folder / "config.json").string(), log);
    if (read.has("pretrained_cfg")) return ofTimm(read.object("pretrained_cfg"), model);
    const std::vector<double> half(static_cast<size_t>(model.channels), 0.5);
    return {.preprocessing = {.resize = model.image, .channels = model.channels, .mean = half, .deviation = half},
            .warnings = {fmt::format("{} is missing: pictures are resized to {} x {} bilinearly and each channel is "
                                     "scaled to -1..1, which may differ from the model's training",
                                     file.filename().string(), model.image.width, model.image.height)}};
}

ImageSize resultSize(const ImagePreprocessing& preprocessing, const VisionConfig& model) {
    if (preprocessing.crop) return *preprocessing.crop;
    return preprocessing.resize.value_or(model.image);
}

} // namespace attn
