#pragma once

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
/// other: the product of the layers' maps, each (fused + identity) with rows scaled to sum 1.
/// @param patterns of each layer, first to last: [heads,T,T]
/// @return [T,T]: rows are tokens of the last layer, columns of the first; rows sum to 1
/// @throws Error for patterns of another size, or a share that is no share
/// @source Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv:2005.00928, section 3. Fusing by
///         other than the mean and discarding are later practice (Gildenblat 2020, "Explainability for Vision
///         Transformers"), not the paper's.
std::vector<float> attentionRollout(std::span<const std::span<const float>> patterns, int64_t heads, int64_t tokens,
                                    const RolloutOptions& options = {});

/// How much each token mattered to the logit of a class, as seen from each token: R becomes R + A R layer by layer from
/// the identity on, where A is the mean over the heads of what is positive of pattern times gradient.
/// @param patterns, gradients of each layer, first to last: [heads,T,T]; gradients of the class's logit by the patterns
/// @return [T,T]: rows are tokens of the last layer, columns of the first
/// @throws Error for patterns or gradients of another size
/// @source Chefer et al. 2021, "Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder
///         Transformers", arXiv:2103.15679, section 3.1, equations 5 and 6
std::vector<float> gradientRollout(std::span<const std::span<const float>> patterns,
                                   std::span<const std::span<const float>> gradients, int64_t heads, int64_t tokens);

} // namespace attn
