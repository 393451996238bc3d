#include "engine/analysis/patch_embedding.h"

#include "engine/inference/vision_model.h"

#include <cmath>

namespace attn {

std::vector<float> cosineSimilarities(std::span<const float> rows, int64_t width) {
    const auto columns = static_cast<size_t>(width), n = columns == 0 ? 0 : rows.size() / columns;
    std::vector<double> lengths(n, 0);
    const auto dot = [&](size_t a, size_t b) {
        double sum = 0;
        for (size_t i = 0; i < columns; ++i)
            sum += static_cast<double>(rows[a * columns + i]) * static_cast<double>(rows[b * columns + i]);
        return sum;
    };
    for (size_t row = 0; row < n; ++row) lengths[row] = std::sqrt(dot(row, row));
    std::vector<float> result(n * n, 0);
    for (size_t a = 0; a < n; ++a)
        for (size_t b = 0; b <= a; ++b) {
            const double product = lengths[a] * lengths[b];
            result[a * n + b] = result[b * n + a] = product > 0 ? static_cast<float>(dot(a, b) / product) : 0.0f;
        }
    return result;
}

std::shared_ptr<AnalysisResult> PatchEmbeddingAnalysis::run(RunningModel& running, const AnalysisContext&) const {
    const VisionModel& model = visionModel(running);
    auto result = std::make_shared<PatchEmbeddingMaps>();
    result->similarity = cosineSimilarities(model.patchPositions(), model.config().modelWidth);
    result->rawFilters = model.patchFilters();
    result->filters = principalComponents(result->rawFilters, model.config().patches.patchValues(), mostComponents);
    return result;
}

} // namespace attn
