#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/models/model_spec.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace attn {

class FieldLog;

/// The preprocessing of pictures that a folder describes, and warnings about assumptions.
struct FolderPreprocessing {
    ImagePreprocessing preprocessing;
    std::vector<std::string> warnings;
};

/// Reads preprocessor_config.json, else timm's "pretrained_cfg" in config.json. Without both, pictures are resized
/// bilinearly to the model's size and channels are scaled to -1..1 (mean and deviation 0.5), as in the original ViT,
/// and the result has a warning.
/// @param model description at the image size of its training
/// @throws Error naming the file and the field
FolderPreprocessing readPreprocessing(const std::filesystem::path& folder, const nlohmann::json& config,
                                      const ModelSpec& model, FieldLog* log = nullptr);

/// The size of preprocessed pictures. If it depends on the picture, the model's image size.
ImageSize resultSize(const ImagePreprocessing& preprocessing, const ModelSpec& model);

} // namespace attn
