#include "engine/models/preprocessor_config.h"

#include "engine/io/is_in_folder.h"
#include "engine/io/json_file.h"
#include "engine/models/config_reader.h"
#include "engine/models/timm_architectures.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLongestPictureSide = 8192; ///< on a side

constexpr double kMostMean = 1e6, kLeastDeviation = 1e-6, kMostDeviation = 1e6;

/// How an image processor of transformers prepares pictures where its file says nothing.
struct Processor {
    std::string_view kind{}; ///< its name without "ImageProcessor" or "FeatureExtractor", and "Fast"
    bool hasEdge = false;    ///< a bare number is the shorter side, not both
    int64_t size = 224;
    ResampleFilter filter = ResampleFilter::Bilinear;
    int64_t crop = 0; ///< 0: the centre is not cropped
    std::vector<double> mean{0.5, 0.5, 0.5}, deviation{0.5, 0.5, 0.5};
};

const Processor& processorOf(const ConfigReader& read, std::vector<std::string>& warnings) {
    static const std::vector<double> kMean{0.48145466, 0.4578275, 0.40821073}, // of CLIP
        kDeviation{0.26862954, 0.26130258, 0.27577711};
    static const std::array<Processor, 4> kProcessors{
        Processor{.kind = "ViT"},
        {.kind = "DeiT", .size = 256, .filter = ResampleFilter::Bicubic, .crop = 224},
        {"Bit", true, 224, ResampleFilter::Bicubic, 224, kMean, kDeviation},
        {"CLIP", true, 224, ResampleFilter::Bicubic, 224, kMean, kDeviation}};
    const std::string type = read.text("image_processor_type", read.text("feature_extractor_type", "ViT"));
    std::string_view kind = type;
    for (const std::string_view suffix : {"Fast", "ImageProcessor", "FeatureExtractor"})
        if (kind.ends_with(suffix)) kind.remove_suffix(suffix.size());
    const auto found = std::ranges::find(kProcessors, kind, &Processor::kind);
    if (found != kProcessors.end()) return *found;
    warnings.push_back(
        fmt::format("preprocessor_config.json: the image processor \"{}\" is not known here; pictures are "
                    "prepared as by ViTImageProcessor",
                    type));
    return kProcessors.front();
}

/// Names the fields of preprocessor_config.json that no code reads and that may change numbers.
void nameOthers(const ConfigReader& read, std::vector<std::string>& warnings) {
    static constexpr std::array<std::string_view, 27> kKnown{"image_processor_type",
                                                             "feature_extractor_type",
                                                             "processor_class",
                                                             "auto_map",
                                                             "_valid_processor_keys",
                                                             "do_resize",
                                                             "size",
                                                             "resample",
                                                             "default_to_square",
                                                             "do_center_crop",
                                                             "crop_size",
                                                             "do_rescale",
                                                             "rescale_factor",
                                                             "do_normalize",
                                                             "image_mean",
                                                             "image_std",
                                                             "do_convert_rgb",
                                                             "data_format",
                                                             "input_data_format",
                                                             "return_tensors",
                                                             "device",
                                                             "disable_grouping",
                                                             "do_reduce_labels",
                                                             "reduce_labels",
                                                             "image_seq_length",
                                                             "num_channels",
                                                             "image_size"};
    for (const auto& [field, value] : read.json().items())
        if (std::ranges::find(kKnown, field) == kKnown.end() && !value.is_null() && value != false)
            warnings.push_back(fmt::format("preprocessor_config.json: \"{}\" is {}, which this program does not obey",
                                           field, shownJson(value)));
}

/// One number per channel; a single number applies to all.
/// @param isListed a list must have a number for each channel
std::vector<double> perChannel(const ConfigReader& read, const char* field, const std::vector<double>& fallback,
                               int64_t channels, double least, double most, bool isListed) {
    std::vector<double> values(static_cast<size_t>(channels), 0.5);
    if (static_cast<int64_t>(fallback.size()) == channels) values = fallback;
    if (!read.has(field)) return values;
    const nlohmann::json& json = read.json().at(field);
    const nlohmann::json list = json.is_array() ? json : nlohmann::json::array({json});
    if (static_cast<int64_t>(list.size()) != channels && (list.size() != 1 || (json.is_array() && isListed)))
        read.fail(field, fmt::format("has {} {} but the model reads {} channels", list.size(),
                                     list.size() == 1 ? "number" : "numbers", channels));
    for (size_t i = 0; i < values.size(); ++i) {
        const nlohmann::json& value = list[list.size() == 1 ? 0 : i];
        if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
            read.fail(field, fmt::format("contains {}, which is not a valid number: it must lie from {} to {}",
                                         shownJson(value), least, most));
        values[i] = value.get<double>();
    }
    return values;
}

/// Mean and deviation of each channel.
void readNormalisation(const ConfigReader& read, const char* mean, const char* deviation, const Processor& usual,
                       bool isListed, ImagePreprocessing& result) {
    result.mean = perChannel(read, mean, usual.mean, result.channels, -kMostMean, kMostMean, isListed);
    result.deviation =
        perChannel(read, deviation, usual.deviation, result.channels, kLeastDeviation, kMostDeviation, isListed);
}

/// By its number in Pillow.
ResampleFilter filterOf(const ConfigReader& read, ResampleFilter fallback) {
    constexpr int kFilters = 6;
    const double code = read.number("resample", static_cast<double>(fallback));
    for (int i = 0; i < kFilters; ++i)
        if (code == i) return static_cast<ResampleFilter>(i);
    read.fail("resample", fmt::format("is {}", code),
              "supported: 0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic, 4 box, 5 Hamming");
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

void readResize(const ConfigReader& read, const Processor& usual, ImagePreprocessing& result) {
    if (!read.flag("do_resize", true)) return;
    if (!read.has("size")) {
        if (usual.hasEdge)
            result.shortestEdge = usual.size;
        else
            result.resize = ImageSize{usual.size, usual.size};
        return;
    }
    const nlohmann::json& size = read.json().at("size");
    const bool isEdge =
        size.is_object() ? size.contains("shortest_edge") : !read.flag("default_to_square", !usual.hasEdge);
    if (size.is_object() &&
        (isEdge ? size.contains("longest_edge") : !(size.contains("height") && size.contains("width"))))
        read.fail("size", fmt::format("is {}", shownJson(size)),
                  "supported: a number, height and width, or shortest_edge alone");
    if (isEdge)
        result.shortestEdge = fixedSize(read, "size").height;
    else
        result.resize = fixedSize(read, "size");
}

FolderPreprocessing ofHuggingFace(const fs::path& file, const ModelSpec& model) {
    FolderPreprocessing folder;
    const nlohmann::json json = readJsonFile(file, folder.warnings);
    const ConfigReader read(json, file.string());
    ImagePreprocessing& result = folder.preprocessing;
    result.channels = model.patches.channels;
    const Processor& usual = processorOf(read, folder.warnings);
    nameOthers(read, folder.warnings);
    readResize(read, usual, result);
    result.filter = filterOf(read, usual.filter);
    // ViTImageProcessor does not crop unless it is told to; files without a type are older ones, which crop if they
    // can.
    const bool isTyped = read.has("image_processor_type") || read.has("feature_extractor_type");
    if (read.flag("do_center_crop", usual.crop > 0 || (!isTyped && read.has("crop_size")))) {
        if (read.has("crop_size"))
            result.crop = fixedSize(read, "crop_size");
        else if (usual.crop > 0)
            result.crop = ImageSize{usual.crop, usual.crop};
    }
    if (result.shortestEdge && !result.crop) {
        result.crop = ImageSize{*result.shortestEdge, *result.shortestEdge};
        folder.warnings.push_back(fmt::format("{}: pictures keep their aspect ratio and are not cropped; this program "
                                              "reads only the middle {} x {} of each",
                                              file.filename().string(), *result.shortestEdge, *result.shortestEdge));
    }
    result.factor = read.flag("do_rescale", true) ? read.number("rescale_factor", 1.0 / 255) : 1;
    if (read.flag("do_normalize", true)) readNormalisation(read, "image_mean", "image_std", usual, true, result);
    return folder;
}

ResampleFilter timmFilter(const ConfigReader& read) {
    constexpr std::array<std::pair<std::string_view, ResampleFilter>, 6> kNames{{{"nearest", ResampleFilter::Nearest},
                                                                                 {"lanczos", ResampleFilter::Lanczos},
                                                                                 {"bilinear", ResampleFilter::Bilinear},
                                                                                 {"bicubic", ResampleFilter::Bicubic},
                                                                                 {"box", ResampleFilter::Box},
                                                                                 {"hamming", ResampleFilter::Hamming}}};
    const std::string name = read.text("interpolation", "bicubic");
    for (const auto& [known, filter] : kNames)
        if (name == known) return filter;
    read.fail("interpolation", fmt::format("is \"{}\"", name),
              "supported: bicubic, bilinear, nearest, lanczos, box, hamming");
}

/// @source timm's data/transforms_factory.py, transforms_imagenet_eval(): sides become size / crop_pct, then the middle
/// is cropped
FolderPreprocessing ofTimm(const ConfigReader& read, const ImageSize& size, const ModelSpec& model) {
    static const Processor kUsual{.mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}}; // of ImageNet
    FolderPreprocessing folder;
    ImagePreprocessing& result = folder.preprocessing;
    result.channels = model.patches.channels;
    result.crop = size;
    result.cropRule = CropRule::Torchvision;
    const ImageSize kept{size.height / model.patches.patch * model.patches.patch,
                         size.width / model.patches.patch * model.patches.patch};
    if (kept.area() < 1)
        read.fail("input_size", fmt::format("is smaller than a patch of {} pixels", model.patches.patch));
    if (kept != size) result.kept = kept; // the convolution of the patches leaves out the rest
    const double share = read.number("crop_pct", 0.875);
    if (share <= 0 || share > 1) read.fail("crop_pct", fmt::format("is {} but must be above 0 and at most 1", share));
    const auto scaled = [&](int64_t side) {
        const double edge = static_cast<double>(side) / share;
        if (edge > static_cast<double>(kLongestPictureSide))
            read.fail("crop_pct",
                      fmt::format("is {}, which makes pictures larger than {} pixels", share, kLongestPictureSide));
        return static_cast<int64_t>(edge);
    };
    const ImageSize edges{scaled(size.height), scaled(size.width)};
    result.filter = timmFilter(read);
    readNormalisation(read, "mean", "std", kUsual, false, result);
    const std::string mode = read.text("crop_mode", "center");
    if (mode == "squash") {
        result.resize = edges;
    } else if (mode == "border") {
        result.inside = edges;
        for (size_t channel = 0; channel < result.border.size(); ++channel)
            result.border[channel] = static_cast<uint8_t>(
                std::clamp<int64_t>(std::lrint(255 * result.mean[std::min(channel, result.mean.size() - 1)]), 0, 255));
    } else if (mode != "center") {
        read.fail("crop_mode", fmt::format("is \"{}\"", mode), "supported: center, squash, border");
    } else if (edges.height == edges.width) {
        result.shortestEdge = edges.height;
    } else { // timm then resizes bilinearly, whatever "interpolation" says
        result.cover = edges;
        result.filter = ResampleFilter::Bilinear;
    }
    for (const char* field : {"crop_border_pixels", "tf_preprocessing"})
        if (read.has(field) && read.json().at(field) != false && read.json().at(field) != 0)
            folder.warnings.push_back(fmt::format("pretrained_cfg: \"{}\" is {}, which this program does not obey",
                                                  field, shownJson(read.json().at(field))));
    return folder;
}

} // namespace

FolderPreprocessing readPreprocessing(const fs::path& folder, const nlohmann::json& config, const ModelSpec& model,
                                      FieldLog* log) {
    const fs::path file = folder / "preprocessor_config.json";
    const bool isThere = isInFolder(file);
    const ConfigReader read(config, (folder / "config.json").string(), log);
    FolderPreprocessing result;
    if (const auto timm = timmPictures(read)) {
        result = ofTimm(*timm, timmImageSize(read).value_or(model.patches.image), model);
        if (isThere)
            result.warnings.push_back("preprocessor_config.json is not read: as timm does, pictures are prepared as "
                                      "config.json says");
    } else if (isThere) {
        result = ofHuggingFace(file, model);
    } else {
        const std::vector<double> half(static_cast<size_t>(model.patches.channels), 0.5);
        result = {
            .preprocessing = {.resize = model.patches.image,
                              .channels = model.patches.channels,
                              .mean = half,
                              .deviation = half},
            .warnings = {fmt::format("{} is missing: pictures are resized to {} x {} bilinearly and each channel is "
                                     "scaled to -1..1, which may differ from the model's training",
                                     file.filename().string(), model.patches.image.width, model.patches.image.height)}};
    }
    result.warnings.insert(result.warnings.begin(), model.remarks.begin(), model.remarks.end());
    return result;
}

ImageSize resultSize(const ImagePreprocessing& preprocessing, const ModelSpec& model) {
    if (preprocessing.kept) return *preprocessing.kept;
    if (preprocessing.crop) return *preprocessing.crop;
    return preprocessing.resize.value_or(model.patches.image);
}

} // namespace attn
