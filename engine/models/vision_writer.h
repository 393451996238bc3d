#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/models/vision_config.h"

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// What a folder of a vision model holds besides the weights.
struct VisionFolderText {
    std::vector<std::string> labels{}; ///< of the classes
    ImagePreprocessing preprocessing{};
    std::vector<std::pair<std::string, Image>> examples{}; ///< written as examples/NAME.ppm
};

/// Writes config.json, preprocessor_config.json and model.safetensors (float32). Of a plain ViT with Hugging Face's
/// tensor names, so that other programs open it; of others with the engine's own.
/// @param read dense values of one of the engine's parameters
/// @throws Error naming the file and why
void writeVisionFolder(const std::filesystem::path& folder, const VisionConfig& config, const VisionFolderText& text,
                       const std::function<std::vector<float>(const std::string& parameter)>& read);

/// The family that a model of this description is written as.
const struct VisionFamily& writtenFamily(const VisionConfig& config);
/// What config.json says.
std::string visionConfigText(const VisionConfig& config, const std::vector<std::string>& labels);

} // namespace attn
