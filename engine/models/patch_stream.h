#pragma once

#include "engine/models/model_spec.h"

#include <span>
#include <vector>

namespace attn {

/// Names of the graph's inputs.
namespace vision_names {
inline constexpr const char* kPatches = "patches";               ///< Input [B * N, channels * patch * patch]
inline constexpr const char* kPadding = "padding";               ///< Input I32 [B, paddedTokens]: 1 for padding, else 0
inline constexpr const char* kSinusoids = "pos_embed#sinusoids"; ///< Computed parameter
inline constexpr const char* kPositions = "pos_embed.W_pos";     ///< Parameter [positions, C]
inline constexpr const char* kNormalized = "ln_final.hook_normalized";
} // namespace vision_names

/// The number of rows per image at a layer. The fused kernel needs a multiple of 4 for several images. Padding follows
/// the patches, and no token attends to it. Without padding, or where another path computes a layer, there is no input
/// kPadding.
int64_t paddedTokens(const StreamSpec& config, int64_t images, int64_t layer = 0);

/// Fills the input kPadding. @param padding rows of all images  @param tokens tokens per image, without padding
void writePadding(std::span<int32_t> padding, int64_t images, int64_t tokens);

/// Sinusoidal positions of the patches of a grid: sin x, cos x, sin y, cos y, each with width / 4 frequencies.
/// @return [grid.area(), width]
/// @source Beyer et al. 2022, "Better plain ViT baselines for ImageNet-1k", arXiv:2205.01580, section 2
std::vector<float> sinusoidalGrid(const ImageSize& grid, int64_t width);

} // namespace attn
