#pragma once

#include "engine/inference/model_info.h"
#include "engine/io/image.h"

#include <string>
#include <vector>

namespace attn {

/// The description of a vision model, known without a run.
struct VisionInfo {
    std::string name;        ///< folder name
    std::string family;      ///< "vit", "deit", "dinov2", "dinov2_with_registers", "swin", "timm_vit"
    std::string familyTitle; ///< "Vision Transformer"
    std::string configJson;  ///< pretty-printed config as found in the folder
    std::string dtype;       ///< dtype in the file: "F32", "F16", "BF16"
    /// "learned" or "sinusoidal" if added to tokens, else the position part of the first layer, or "none".
    std::string positions;
    std::string pooling; ///< input of the classifier: "CLS", "mean of patches", "CLS and mean of patches"
    int layers = 0;
    int heads = 0;               ///< largest number of heads in a layer
    std::vector<int> layerHeads; ///< heads of each layer
    int headWidth = 0;           ///< D
    int modelWidth = 0;          ///< C
    int feedForwardWidth = 0;
    ImageSize image{}; ///< size that it reads, in pixels
    ImageSize grid{};  ///< rows and columns of patches
    int patch = 0;     ///< pixels per side of a patch
    int channels = 0;
    std::vector<std::string> prefix; ///< tokens before the patches: "CLS", "distillation", "register 1" ...
    int classes = 0;                 ///< 0: no classifier
    std::vector<std::string> labels; ///< names of the classes; empty if the files have none
    int64_t parameterCount = 0;
    int64_t parameterBytes = 0; ///< float32 bytes on the device
    std::vector<ParameterInfo> parameters;
    std::vector<std::string> hooks;    ///< names of all hooks, in execution order
    std::vector<std::string> warnings; ///< e.g. "preprocessor_config.json is missing ..."

    /// The number of tokens in the first layer.
    int tokens() const { return static_cast<int>(prefix.size()) + static_cast<int>(grid.area()); }
    /// The name of a class: "tabby cat", or "class 281" if it has none.
    std::string labelOf(int index) const {
        const auto at = static_cast<size_t>(index);
        return at < labels.size() && !labels[at].empty() ? labels[at] : "class " + std::to_string(index);
    }
};

} // namespace attn
