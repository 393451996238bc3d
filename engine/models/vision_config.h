#pragma once

#include "engine/io/image.h"
#include "engine/models/block_builder.h"
#include "engine/models/class_activation.h"

#include <algorithm>
#include <string>
#include <vector>

namespace attn {

/// The positions that are added to tokens.
enum class VisionPositions : uint8_t {
    None,
    Learned,
    Sinusoidal ///< sines and cosines of row and column; C a multiple of 4
};
/// The tokens of the last layer that the classifier reads.
enum class VisionPooling : uint8_t {
    Cls,       ///< the first token
    Mean,      ///< the mean of the patches
    ClsAndMean ///< both, concatenated, as for DINOv2
};

/// Square windows of a grid. Tokens attend only within their window. A grid that fits into one window is one window.
/// @source Liu et al. 2021, "Swin Transformer", arXiv:2103.14030, section 3.2
struct GridWindows {
    int64_t size = 0;  ///< tokens per side; 0: one window for the whole grid
    int64_t shift = 0; ///< shift of the windows down and right, in tokens
    bool operator==(const GridWindows&) const = default;
};

/// Replaces tokens by the means of K-means clusters over the input of a layer, without the tokens before the patches.
/// @source Marin et al. 2021, "Token Pooling in Vision Transformers", arXiv:2110.03860, section 4
struct TokenPool {
    int64_t layer = 0;  ///< first layer that runs on fewer tokens
    int64_t tokens = 0; ///< K
    bool operator==(const TokenPool&) const = default;
};

/// The description of a vision transformer. Families differ only in these values and in the names of tensors in their
/// files. The tokens are CLS, the distillation token, registers, then patches row by row.
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929; distillation token: Touvron et
///         al. 2021, arXiv:2012.12877; registers: Darcet et al. 2024, arXiv:2309.16588; windows and merges: Liu et al.
///         2021, "Swin Transformer", arXiv:2103.14030
struct VisionConfig {
    std::string name;
    std::string family;
    ImageSize image{};      ///< both sides are multiples of the patch
    int64_t patch = 16;     ///< pixels per side of a patch
    int64_t channels = 3;   ///< 3: red, green, blue; 1: grey
    int64_t modelWidth = 0; ///< C of the first layer; each merge doubles it
    bool clsToken = true;
    bool distillationToken = false;
    int64_t registers = 0;
    VisionPositions positions = VisionPositions::Learned;
    bool prefixPositions = true;    ///< CLS and the distillation token have positions
    bool registerPositions = false; ///< registers have them, too
    const Part *norm = &kLayerNormPart, *residual = &kPreNormResidual; ///< of layers that name no others
    double normEpsilon = 1e-6;
    bool embedNorm = false; ///< a norm after the embedding
    bool finalNorm = true;
    bool normAfterPooling = false; ///< the final norm is applied to the pooled token
    FeedForwardSpec feedForward;   ///< settings of the first layer; each merge doubles the width
    VisionPooling pooling = VisionPooling::Cls;
    int64_t classes = 0;                                   ///< 0: no classifier
    ClassActivation activation = ClassActivation::Softmax; ///< of the classes
    bool distillationHead = false; ///< a second classifier on the distillation token; the logits are the mean
    std::vector<LayerAttention> layers;
    std::vector<GridWindows> windows{}; ///< one per layer; empty: no windows
    /// Layers, in rising order. Before each, 2 x 2 tokens become one token of twice the width.
    std::vector<int64_t> merges{};
    std::vector<TokenPool> pools{}; ///< in rising order of layers
    /// Settings of the folder that the computation does not follow, in sentences for the person.
    std::vector<std::string> remarks{};
    bool operator==(const VisionConfig&) const = default;

    ImageSize grid() const { return {image.height / patch, image.width / patch}; } ///< rows and columns of patches
    int64_t patchValues() const { return channels * patch * patch; }               ///< values of one patch
    int64_t positioned() const {                                                   ///< tokens before the registers
        return (clsToken ? 1 : 0) + (distillationToken ? 1 : 0);
    }
    int64_t prefix() const { return positioned() + registers; } ///< tokens before the patches
    int64_t tokens() const { return prefix() + grid().area(); } ///< T
    int64_t positionRows() const {
        return (prefixPositions ? positioned() : 0) + (registerPositions ? registers : 0) + grid().area();
    }
    int64_t pooledWidth() const { return (pooling == VisionPooling::ClsAndMean ? 2 : 1) * widthOf(lastLayer()); }

    int64_t mergesUpTo(int64_t layer) const {
        return std::ranges::count_if(merges, [&](int64_t merge) { return merge <= layer; });
    }
    int64_t widthOf(int64_t layer) const { return modelWidth << mergesUpTo(layer); } ///< C of one layer
    ImageSize gridOf(int64_t layer) const;                                           ///< before any pooling
    int64_t tokensOf(int64_t layer) const;                                           ///< T of one layer
    int64_t lastLayer() const { return static_cast<int64_t>(layers.size()) - 1; }
};

/// Names of the tokens before the patches: "CLS", "distillation", "register 1" ...
std::vector<std::string> prefixNames(const VisionConfig& config);

} // namespace attn
