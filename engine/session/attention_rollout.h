#pragma once

#include "engine/session/layer_pattern.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

/// How the heads of a layer become one map.
enum class HeadFusion : uint8_t { Mean, Maximum, Minimum };

struct RolloutOptions {
    HeadFusion fusion = HeadFusion::Mean;
    double discard = 0; ///< share of each layer's cells, the lowest, that are taken as 0: from 0 to below 1
    bool operator==(const RolloutOptions&) const = default;
};

/// How much of each token reaches each token through all layers, if a residual passes one half on and attention the
/// other: the product of the layers' maps, each (fused + identity) with rows scaled to sum 1. Where tokens become one
/// between layers, that takes the mean of them.
/// @param patterns of each layer, first to last
/// @return rows are tokens of the last layer, columns of the first; rows sum to 1
/// @throws Error for patterns of another size, or a share that is no share
/// @source Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv:2005.00928, section 3. Fusing by
///         other than the mean and discarding are later practice (Gildenblat 2020, "Explainability for Vision
///         Transformers"), and so is the mean over tokens that merge; neither is the paper's.
TokenMap attentionRollout(std::span<const LayerPattern> patterns, const RolloutOptions& options = {});

/// How much each token mattered to the logit of a class, as seen from each token: R becomes R + A R layer by layer from
/// the identity on, where A is the mean over the heads of what is positive of pattern times gradient.
/// @param patterns of each layer, first to last
/// @param gradients of the class's logit by the patterns, of the same sizes
/// @return rows are tokens of the last layer, columns of the first
/// @throws Error for patterns or gradients of another size
/// @source Chefer et al. 2021, "Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder
///         Transformers", arXiv:2103.15679, section 3.1, equations 5 and 6
TokenMap gradientRollout(std::span<const LayerPattern> patterns, std::span<const std::vector<float>> gradients);

} // namespace attn
