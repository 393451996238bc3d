#pragma once

#include "engine/io/image.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace attn {
class VisionModel;
struct LogitTarget;
struct ModelInfo;
} // namespace attn

namespace attn::cli {

class Command;
struct ModelOptions;
struct TargetOptions;

/// A picture and the size at which a vision model reads it.
struct ImageOptions {
    std::string image;
    std::optional<ImageSize> asked; ///< empty: the model's own

    /// @param isRequired false where a prompt may be given instead
    void addTo(Command& command, bool isRequired);
    /// @throws Error if the file cannot be read as a picture
    Image read() const;
};

/// Opens a vision model, with its warnings and progress on standard error.
std::unique_ptr<VisionModel> openVision(const ModelOptions& model, const std::optional<ImageSize>& size);

/// Writes captured hooks, and the pixels of the picture as "patches", as .safetensors or .npz. @throws Error
void captureVision(const ModelOptions& model, const ImageOptions& picture, const std::string& hooks,
                   const std::string& out);

/// A class by its number or its label. @throws Error naming the valid ones
int labelNamed(const std::string& text, const ModelInfo& info);
/// The target of an analysis of a picture. @throws Error as labelNamed
LogitTarget classTarget(const TargetOptions& target, const ModelInfo& info);

/// The picture and target of `lens`, `ablate`, `patch` and `detect`.
struct VisionQuestion {
    const ModelOptions& model;
    const ImageOptions& picture;
    const TargetOptions& target; ///< classes
    bool isJson = false;
};
/// @param what "logit", "attribution" or "gradients"  @param top number of classes per layer
int lensVision(const VisionQuestion& question, const std::string& what, int top);
int ablateVision(const VisionQuestion& question);
/// @param from the picture whose values are copied  @param hook the copied hook of each layer
int patchVision(const VisionQuestion& question, const std::string& from, const std::string& hook);

} // namespace attn::cli
