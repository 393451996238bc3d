#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/models/vision_config.h"
#include "engine/models/weight_recipe.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// The contents of the folder of a vision model besides the parameters.
struct VisionFolderText {
    std::vector<std::string> labels{}; ///< one per class
    ImagePreprocessing preprocessing{};
    std::vector<std::pair<std::string, Image>> examples{}; ///< written as examples/NAME.ppm
};

/// Writes config.json, preprocessor_config.json and model.safetensors (float32). A plain ViT gets Hugging Face's tensor
/// names, which other programs can open. Other models get the engine's names.
/// @param read returns the dense values of a parameter, by the engine's name
/// @throws Error naming the file and the reason
void writeVisionFolder(const std::filesystem::path& folder, const VisionConfig& config, const VisionFolderText& text,
                       const std::function<std::vector<float>(const std::string& parameter)>& read);

/// Where writeVisionFolder() puts a parameter: the tensor's whole name. @return none if only this program reads the
/// format
std::optional<WeightRecipe> placeInFile(const VisionConfig& config, const std::string& parameter);

/// Checks that writeVisionFolder() can write a model, so that it is read again as it is.
/// @param where for the message  @throws Error if it has no classifier, or parts that can only be read
void requireWritable(const VisionConfig& config, const std::string& where);

/// The family whose format a model of this description is written in.
const struct VisionFamily& writtenFamily(const VisionConfig& config);
/// The text of config.json.
std::string visionConfigText(const VisionConfig& config, const std::vector<std::string>& labels);

} // namespace attn
