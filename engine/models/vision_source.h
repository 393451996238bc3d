#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/models/parameter_source.h"
#include "engine/models/vision_config.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A vision model that can be loaded: its description at the size at which it will run, its preprocessing, its labels
/// and its parameters.
class VisionSource : public ParameterSource {
public:
    virtual const VisionConfig& config() const = 0;
    virtual const ImagePreprocessing& preprocessing() const = 0;
    virtual const std::vector<std::string>& labels() const = 0; ///< one per class; empty if the files have none
};

/// Opens the folder of a vision model in the format of Hugging Face or timm.
/// @param size image size, to which positions are interpolated; empty: the size after preprocessing
/// @throws Error naming the file, the problem and the remedy
std::unique_ptr<VisionSource> openVisionSource(const std::string& path, std::optional<ImageSize> size = {});

/// The example pictures in the folder of a model, by name; empty if it has none.
/// @param path as for openVisionSource()
std::vector<std::filesystem::path> examplePictures(const std::string& path);

/// Whether the path holds a vision model. False if it cannot be read.
bool isVisionModel(const std::string& path);

} // namespace attn
