#pragma once

#include "engine/io/image.h"
#include "engine/session/model_info.h"

#include <string>
#include <vector>

namespace attn {

/// What is known of a vision model without running it.
struct VisionInfo {
    std::string name;        ///< folder name
    std::string family;      ///< "vit", "deit", "dinov2", "dinov2_with_registers", "swin", "timm_vit"
    std::string familyTitle; ///< "Vision Transformer"
    std::string configJson;  ///< pretty-printed config as found in the folder
    std::string dtype;       ///< dtype in the file: "F32", "F16", "BF16"
    std::string positions; ///< added to tokens "learned" or "sinusoidal"; else id of the first layer's part, or "none"
    std::string pooling;   ///< what the head reads: "CLS", "mean of patches", "CLS and mean of patches"
    int layers = 0;
    int heads = 0;               ///< of the layer that has most
    std::vector<int> layerHeads; ///< of each layer
    int headWidth = 0;           ///< D
    int modelWidth = 0;          ///< C
    int feedForwardWidth = 0;
    ImageSize image{}; ///< pixels that it reads
    ImageSize grid{};  ///< patches
    int patch = 0;     ///< pixels on a side
    int channels = 0;
    std::vector<std::string> prefix; ///< tokens before the patches: "CLS", "distillation", "register 1" ...
    int classes = 0;                 ///< 0: no head
    std::vector<std::string> labels; ///< of the classes; empty where the files name none
    int64_t parameterCount = 0;
    int64_t parameterBytes = 0; ///< float32 bytes on the device
    std::vector<ParameterInfo> parameters;
    std::vector<std::string> hooks;    ///< every probe name the model offers, in execution order
    std::vector<std::string> warnings; ///< e.g. "preprocessor_config.json is missing ..."

    /// Of the first layer: those before the patches, and the patches.
    int tokens() const { return static_cast<int>(prefix.size()) + static_cast<int>(grid.area()); }
    /// "tabby cat", or "class 281" where it has no name.
    std::string labelOf(int index) const {
        const auto at = static_cast<size_t>(index);
        return at < labels.size() && !labels[at].empty() ? labels[at] : "class " + std::to_string(index);
    }
};

} // namespace attn
