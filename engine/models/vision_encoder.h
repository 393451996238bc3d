#pragma once

#include "engine/models/vision_config.h"

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// How a graph of the encoder will be used.
struct VisionBuild {
    int64_t images = 1; ///< B, of one size
    double dropout = 0; ///< of the embedding and what each block adds; for training
    bool mayTrain = false;
    std::set<std::string> edited{}; ///< hooks through which something else may flow: decoder_names::kept and added
    bool readsAllLayers = false;    ///< VisionGraph::stages are wanted
};

/// Names of the graph's inputs.
namespace vision_names {
inline constexpr const char* kPatches = "patches";               ///< Input [B N, channels patch patch]
inline constexpr const char* kPadding = "padding";               ///< Input I32 [B, paddedTokens]: 0, 1 of padding
inline constexpr const char* kSinusoids = "pos_embed#sinusoids"; ///< Parameter, computed
inline constexpr const char* kPositions = "pos_embed.W_pos";     ///< Parameter [positions, C]
inline constexpr const char* kNormalized = "ln_final.hook_normalized";
} // namespace vision_names

struct VisionGraph {
    std::shared_ptr<Graph> graph;
    Tensor logits; ///< [B, classes]; null without a head
    Tensor pooled; ///< [B, pooledWidth]: what the head reads
    /// What the head would make of the embedding and of each layer, [B, classes]; null without a head, and before the
    /// last merge, whose tokens it cannot read.
    std::vector<Tensor> stages;
    std::vector<Tensor> tokenStages; ///< of each token by itself, [T, classes]; null also where it reads two at once
    std::vector<AttentionInputs> attention; ///< per layer
    std::vector<NodeRange> blocks;          ///< the nodes of each
    ComposedNeeds composed;                 ///< of layers that have a spec, and sinusoidal positions
};

/// Rows of each of several images: the fused kernel takes a multiple of 4. Padding stands behind the patches; nothing
/// looks at it. Without padding, and where attention is composed, there is no such input.
int64_t paddedTokens(const VisionConfig& config, const VisionBuild& build, int64_t layer = 0);

/// What the input kPadding says. @param padding of all images  @param tokens of each, without padding
void writePadding(std::span<int32_t> padding, int64_t images, int64_t tokens);

/// Probes: hook_embed [T,C] without positions, hook_pos_embed [T,C] (zeros for registers), those of BlockBuilder,
/// ln_final.hook_normalized [T,C], hook_pooled, logits [B, classes]; T counts the tokens of all images, CLS first in
/// each. Before layers that merge or pool: blocks.N.hook_merged [T,C], blocks.N.hook_pooled_into [B, tokens]: the token
/// that each becomes part of, without those of the prefix. Attention of windows has theirs as sequences: hook_pattern
/// [windows, heads, places, places] as WindowLayout says.
/// Parameters: embed.{W_E,b_E,cls,distillation,registers}, embed.ln.{w,b}, pos_embed.W_pos, merge.N.{W,ln.w,ln.b},
/// those of BlockBuilder, head.{W_H,b_H}, distillation_head.{W_H,b_H}.
/// @throws Error where the image is no multiple of the patch, pooling reads a CLS token that is not there, or windows,
///         merges and pools do not go together
VisionGraph buildVisionEncoder(const VisionConfig& config, const VisionBuild& build = {});

/// Sines and cosines for each patch of a grid: sin x, cos x, sin y, cos y, each of width / 4 frequencies.
/// @return [grid.area(), width]
/// @source Beyer et al. 2022, "Better plain ViT baselines for ImageNet-1k", arXiv:2205.01580, section 2
std::vector<float> sinusoidalGrid(const ImageSize& grid, int64_t width);

} // namespace attn
