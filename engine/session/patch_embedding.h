#pragma once

#include "engine/session/principal_components.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attn {

class VisionModel;

/// How alike rows are in direction. @param rows [n, width]  @return [n, n] of -1 to 1; a row of zeros is like none: 0
std::vector<float> cosineSimilarities(std::span<const float> rows, int64_t width);

/// What a vision model makes of a patch before any layer, told from its weights alone.
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929, figure 7
struct PatchEmbedding {
    std::vector<float> similarity; ///< [patches, patches] of the positions; empty where none are added
    PrincipalComponents filters;   ///< of the rows of the embedding, each [channels, patch, patch]
    std::vector<float> rawFilters; ///< [C, channels, patch, patch]
};
/// @param mostComponents of the filters
PatchEmbedding patchEmbedding(const VisionModel& model, int64_t mostComponents = 28);

} // namespace attn
