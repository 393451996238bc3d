#pragma once

#include "engine/io/image.h"
#include "engine/models/block_builder.h"

#include <string>
#include <vector>

namespace attn {

enum class VisionPositions : uint8_t {
    None,
    Learned,
    Sinusoidal ///< sines and cosines of row and column; C a multiple of 4
};
/// What of the last layer a head reads.
enum class VisionPooling : uint8_t {
    Cls,       ///< the first token
    Mean,      ///< of the patches
    ClsAndMean ///< both beside each other, as DINOv2's classifiers read it
};

/// A transformer over the patches of a picture as one description; families differ only in these values and in their
/// files' tensor names. Tokens are CLS, the distillation token, registers, then patches row by row.
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929; distillation token: Touvron et
///         al. 2021, arXiv:2012.12877; registers: Darcet et al. 2024, arXiv:2309.16588
struct VisionConfig {
    std::string name;
    std::string family;
    ImageSize image{};      ///< both multiples of the patch
    int64_t patch = 16;     ///< pixels on a side of a square
    int64_t channels = 3;   ///< 3: red, green, blue; 1: grey
    int64_t modelWidth = 0; ///< C
    bool clsToken = true;
    bool distillationToken = false;
    int64_t registers = 0;
    VisionPositions positions = VisionPositions::Learned;
    bool prefixPositions = true; ///< CLS and the distillation token have positions of their own; registers never do
    NormKind norm = NormKind::LayerNorm;
    double normEpsilon = 1e-6;
    bool finalNorm = true;
    bool normAfterPooling = false; ///< the final norm acts on what the head reads
    bool layerScale = false;
    FeedForwardSpec feedForward;
    VisionPooling pooling = VisionPooling::Cls;
    int64_t classes = 0;           ///< 0: no head
    bool distillationHead = false; ///< another one on the distillation token; the logits are the mean of both
    std::vector<LayerAttention> layers;
    bool operator==(const VisionConfig&) const = default;

    ImageSize grid() const { return {image.height / patch, image.width / patch}; } ///< in patches
    int64_t patchValues() const { return channels * patch * patch; }               ///< numbers of one patch
    int64_t positioned() const {                                                   ///< tokens before the registers
        return (clsToken ? 1 : 0) + (distillationToken ? 1 : 0);
    }
    int64_t prefix() const { return positioned() + registers; } ///< tokens before the patches
    int64_t tokens() const { return prefix() + grid().area(); } ///< T
    int64_t positionRows() const { return (prefixPositions ? positioned() : 0) + grid().area(); }
    int64_t pooledWidth() const { return (pooling == VisionPooling::ClsAndMean ? 2 : 1) * modelWidth; }
};

/// "CLS", "distillation", "register 1" ... of the tokens before the patches.
std::vector<std::string> prefixNames(const VisionConfig& config);

} // namespace attn
