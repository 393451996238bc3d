#pragma once

#include "engine/analysis/principal_components.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

class VisionModel;

/// Cosine similarities of rows. @param rows [n, width]  @return [n, n] from -1 to 1; 0 for a row of zeros
std::vector<float> cosineSimilarities(std::span<const float> rows, int64_t width);

/// The embedding of patches before the first layer, from the parameters of a vision model.
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929, figure 7
struct PatchEmbedding {
    std::vector<float> similarity; ///< [patches, patches] similarity of positions; empty if none are added
    PrincipalComponents filters;   ///< components of the rows of the embedding, each [channels, patch, patch]
    std::vector<float> rawFilters; ///< [C, channels, patch, patch]
};
/// Computes the embedding. @param mostComponents largest number of components of the filters
PatchEmbedding patchEmbedding(const VisionModel& model, int64_t mostComponents = 28);

} // namespace attn
