#pragma once

#include "engine/models/model_graph.h"
#include "engine/models/vision_config.h"

#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// How a graph of the encoder will be used.
struct VisionBuild {
    int64_t images = 1; ///< B; all have the same size
    double dropout = 0; ///< probability for the embedding and the outputs of sublayers; for training
    bool needsGradients = false;
    std::set<std::string> changed{}; ///< hooks that can be changed, by decoder_names::kept and added
    bool readsAllLayers = false;     ///< whether to build ModelGraph::stages
    bool isFormed = false;           ///< see AttentionSite::isFormed
};

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
int64_t paddedTokens(const VisionConfig& config, const VisionBuild& build, int64_t layer = 0);

/// Fills the input kPadding. @param padding rows of all images  @param tokens tokens per image, without padding
void writePadding(std::span<int32_t> padding, int64_t images, int64_t tokens);

/// Builds the graph of a vision encoder.
///
/// Probes: hook_embed [T,C] without positions, hook_pos_embed [T,C] (zeros for registers), those of BlockBuilder,
/// ln_final.hook_normalized [T,C], hook_pooled, logits [B, classes]. T counts the tokens of all images, CLS first in
/// each image. A layer that merges adds blocks.N.hook_merged [T,C]. A layer that pools adds blocks.N.hook_pooled_into
/// [B, tokens], the cluster of each token after the prefix. With windows, sequences are windows: hook_pattern [windows,
/// heads, places, places], in the order of WindowLayout.
///
/// Parameters: embed.{W_E,b_E,cls,distillation,registers}, embed.ln.{w,b}, pos_embed.W_pos, merge.N.{W,ln.w,ln.b},
/// those of BlockBuilder, head.{W_H,b_H}, distillation_head.{W_H,b_H}.
/// @throws Error if the image size is not a multiple of the patch, if the classifier reads CLS and there is none, or if
///         windows, merges and pools do not fit together
ModelGraph buildVisionEncoder(const VisionConfig& config, const VisionBuild& build = {});

/// Sinusoidal positions of the patches of a grid: sin x, cos x, sin y, cos y, each with width / 4 frequencies.
/// @return [grid.area(), width]
/// @source Beyer et al. 2022, "Better plain ViT baselines for ImageNet-1k", arXiv:2205.01580, section 2
std::vector<float> sinusoidalGrid(const ImageSize& grid, int64_t width);

} // namespace attn
