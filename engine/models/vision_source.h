#pragma once

#include "engine/io/image_preprocessing.h"
#include "engine/models/vision_config.h"
#include "engine/models/weight_recipe.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A vision model that can be loaded: its description at the size at which it will run, its preprocessing, its labels
/// and its parameters.
class VisionSource {
public:
    virtual ~VisionSource() = default;

    virtual const VisionConfig& config() const = 0;
    virtual const ImagePreprocessing& preprocessing() const = 0;
    virtual const std::vector<std::string>& labels() const = 0; ///< one per class; empty if the files have none
    virtual const std::vector<std::string>& warnings() const = 0;
    virtual const std::string& configText() const = 0; ///< JSON for display
    virtual std::string familyTitle() const = 0;
    virtual std::string dtype() const = 0; ///< dtype of most parameters: "F32", "F16", "BF16"
    virtual std::string sourceName(const std::string& parameter) const = 0; ///< name in the file
    /// Reads a parameter.
    /// @return the number of values that are NaN or infinite
    /// @throws Error naming the file and the tensor if it is missing or has another shape
    virtual int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const = 0;
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
