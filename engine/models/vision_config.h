#pragma once

#include "engine/io/image.h"
#include "engine/models/block_builder.h"

#include <algorithm>
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

/// Square windows of a grid that attend each within itself. A grid that is no larger than a window is one window.
/// @source Liu et al. 2021, "Swin Transformer", arXiv:2103.14030, section 3.2
struct GridWindows {
    int64_t size = 0;  ///< tokens on a side; 0: the whole grid attends to itself
    int64_t shift = 0; ///< tokens by which the windows lie further down and to the right
    bool operator==(const GridWindows&) const = default;
};

/// Tokens that are alike become one: K-means over what a layer is given, without the tokens before the patches.
/// @source Marin et al. 2021, "Token Pooling in Vision Transformers", arXiv:2110.03860, section 4
struct TokenPool {
    int64_t layer = 0;  ///< that works on fewer tokens first
    int64_t tokens = 0; ///< K
    bool operator==(const TokenPool&) const = default;
};

/// A transformer over the patches of a picture as one description; families differ only in these values and in their
/// files' tensor names. Tokens are CLS, the distillation token, registers, then patches row by row.
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929; distillation token: Touvron et
///         al. 2021, arXiv:2012.12877; registers: Darcet et al. 2024, arXiv:2309.16588; windows and merges: Liu et al.
///         2021, "Swin Transformer", arXiv:2103.14030
struct VisionConfig {
    std::string name;
    std::string family;
    ImageSize image{};      ///< both multiples of the patch
    int64_t patch = 16;     ///< pixels on a side of a square
    int64_t channels = 3;   ///< 3: red, green, blue; 1: grey
    int64_t modelWidth = 0; ///< C of the first layer; each merge doubles it
    bool clsToken = true;
    bool distillationToken = false;
    int64_t registers = 0;
    VisionPositions positions = VisionPositions::Learned;
    bool prefixPositions = true; ///< CLS and the distillation token have positions of their own; registers never do
    NormKind norm = NormKind::LayerNorm;
    double normEpsilon = 1e-6;
    bool embedNorm = false; ///< a norm on the tokens as they are embedded
    bool finalNorm = true;
    bool normAfterPooling = false; ///< the final norm acts on what the head reads
    bool layerScale = false;
    FeedForwardSpec feedForward; ///< of the first layer; each merge doubles the width
    VisionPooling pooling = VisionPooling::Cls;
    int64_t classes = 0;           ///< 0: no head
    bool distillationHead = false; ///< another one on the distillation token; the logits are the mean of both
    std::vector<LayerAttention> layers;
    std::vector<GridWindows> windows{}; ///< of each layer; empty: none has any
    std::vector<int64_t> merges{}; ///< layers, in rising order, before which 2 x 2 tokens become one of twice the width
    std::vector<TokenPool> pools{}; ///< in rising order of layers
    bool operator==(const VisionConfig&) const = default;

    ImageSize grid() const { return {image.height / patch, image.width / patch}; } ///< in patches
    int64_t patchValues() const { return channels * patch * patch; }               ///< numbers of one patch
    int64_t positioned() const {                                                   ///< tokens before the registers
        return (clsToken ? 1 : 0) + (distillationToken ? 1 : 0);
    }
    int64_t prefix() const { return positioned() + registers; } ///< tokens before the patches
    int64_t tokens() const { return prefix() + grid().area(); } ///< T
    int64_t positionRows() const { return (prefixPositions ? positioned() : 0) + grid().area(); }
    int64_t pooledWidth() const { return (pooling == VisionPooling::ClsAndMean ? 2 : 1) * widthOf(lastLayer()); }

    int64_t mergesUpTo(int64_t layer) const {
        return std::ranges::count_if(merges, [&](int64_t merge) { return merge <= layer; });
    }
    int64_t widthOf(int64_t layer) const { return modelWidth << mergesUpTo(layer); } ///< C of one layer
    ImageSize gridOf(int64_t layer) const;                                           ///< before any pooling
    int64_t tokensOf(int64_t layer) const;                                           ///< T of one layer
    int64_t lastLayer() const { return static_cast<int64_t>(layers.size()) - 1; }
};

/// "CLS", "distillation", "register 1" ... of the tokens before the patches.
std::vector<std::string> prefixNames(const VisionConfig& config);

} // namespace attn
