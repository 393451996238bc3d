#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/models/vision_config.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace attn {

/// How a folder says that pictures are made ready, and what had to be assumed.
struct FolderPreprocessing {
    ImagePreprocessing preprocessing;
    std::vector<std::string> warnings;
};

/// Reads preprocessor_config.json, else timm's "pretrained_cfg" in config.json. Where neither is there: resized to the
/// model's size bilinearly, each channel scaled to -1..1 (mean and deviation 0.5), as the first ViT's files say; with a
/// warning.
/// @param model described at the size of image that it was trained for
/// @throws Error naming the file and the field
FolderPreprocessing readPreprocessing(const std::filesystem::path& folder, const nlohmann::json& config,
                                      const VisionConfig& model);

/// The size of what it makes of any picture, where that does not depend on the picture; else the model's.
ImageSize resultSize(const ImagePreprocessing& preprocessing, const VisionConfig& model);

} // namespace attn
