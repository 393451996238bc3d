#pragma once

#include "engine/analysis/analysis.h"
#include "engine/analysis/principal_components.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// Cosine similarities of rows. @param rows [n, width]  @return [n, n] from -1 to 1; 0 for a row of zeros
std::vector<float> cosineSimilarities(std::span<const float> rows, int64_t width);

/// The embedding of patches before the first layer, from the parameters of a vision model.
/// @source Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", arXiv:2010.11929, figure 7
struct PatchEmbeddingMaps : AnalysisResult {
    std::vector<float> similarity; ///< [patches, patches] similarity of positions; empty if none are added
    PrincipalComponents filters;   ///< components of the rows of the embedding, each [channels, patch, patch]
    std::vector<float> rawFilters; ///< [C, channels, patch, patch]
    void count(FiniteCount& numbers) const override {
        for (const auto* each : {&similarity, &filters.components, &rawFilters}) numbers.add(*each);
        numbers.add(filters.shares);
    }
};

/// Computes PatchEmbeddingMaps from a vision model. It does not depend on the picture.
struct PatchEmbeddingAnalysis : Analysis {
    int64_t mostComponents = 28; ///< largest number of components of the filters
    std::string key() const override { return "patch_embedding"; }
    std::shared_ptr<AnalysisResult> run(RunningModel& model, const AnalysisContext& context) const override;
};

} // namespace attn
