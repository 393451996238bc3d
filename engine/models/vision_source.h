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

/// A vision model that can be loaded: its description at the size it will run at, how pictures are made ready for it,
/// its labels and its weights.
class VisionSource {
public:
    virtual ~VisionSource() = default;

    virtual const VisionConfig& config() const = 0;
    virtual const ImagePreprocessing& preprocessing() const = 0;
    virtual const std::vector<std::string>& labels() const = 0; ///< of each class; empty where the files name none
    virtual const std::vector<std::string>& warnings() const = 0;
    virtual const std::string& configText() const = 0; ///< JSON for display
    virtual std::string familyTitle() const = 0;
    virtual std::string dtype() const = 0;                                  ///< of most weights: "F32", "F16", "BF16"
    virtual std::string sourceName(const std::string& parameter) const = 0; ///< name in the file
    /// @throws Error naming the file and tensor when it is missing or has another shape
    /// @return how many values are NaN or infinite
    virtual int64_t read(const std::string& parameter, const Shape& shape, const RowWriter& write) const = 0;
};

/// Opens a folder of a vision model: Hugging Face's or timm's.
/// @param size of the pictures it will run on, to which positions are interpolated; empty: what its preprocessing makes
/// @throws Error naming the file, the thing and the remedy
std::unique_ptr<VisionSource> openVisionSource(const std::string& path, std::optional<ImageSize> size = {});

/// The pictures that a model brings along to be looked at, by name; empty where there are none.
/// @param path as openVisionSource() takes it
std::vector<std::filesystem::path> examplePictures(const std::string& path);

/// Whether the path holds a vision model, so that a program knows what to ask of it. False where it cannot be read.
bool isVisionModel(const std::string& path);

} // namespace attn
