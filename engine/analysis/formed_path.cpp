#include "engine/analysis/formed_path.h"

#include "engine/inference/finite_count.h"
#include "engine/inference/running_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace attn {

std::shared_ptr<AnalysisResult> FormedPathAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const Input& input = context.input;
    const std::vector<float> all = model.formedLogits(input);
    const auto size = static_cast<size_t>(model.choices());
    const auto formed = std::span(all).subspan(model.predictedRow(input) * size, size);
    // With a cache, only the last token is run, and the views show its results.
    const std::vector<float> own = model.predictFrom(input, input.isText() ? input.tokens().size() - 1 : 0);
    for (const std::span<const float> each : {std::span<const float>(own), std::span<const float>(formed)})
        requireLogits(each, model.info().name, model.info().activation);

    auto result = std::make_shared<FormedPath>();
    result->ids.resize(size);
    std::iota(result->ids.begin(), result->ids.end(), 0);
    const auto isBarred = [&](int id) { // by both paths, so that they do not differ
        return std::isinf(own[static_cast<size_t>(id)]) && std::isinf(formed[static_cast<size_t>(id)]);
    };
    std::erase_if(result->ids, isBarred);
    for (const int id : result->ids) {
        const auto at = static_cast<size_t>(id);
        result->largestDifference = std::max(result->largestDifference, std::abs(own[at] - formed[at]));
        result->largestLogit = std::max(result->largestLogit, std::abs(formed[at]));
    }
    const size_t shown = std::min(result->ids.size(), static_cast<size_t>(choices));
    std::ranges::partial_sort(result->ids, result->ids.begin() + static_cast<std::ptrdiff_t>(shown), std::greater(),
                              [&](int id) { return own[static_cast<size_t>(id)]; });
    result->ids.resize(shown);
    for (const int id : result->ids) {
        result->ownLogits.push_back(own[static_cast<size_t>(id)]);
        result->formedLogits.push_back(formed[static_cast<size_t>(id)]);
    }
    result->best = result->ids.front();
    result->bestFormed = static_cast<int>(std::ranges::max_element(formed) - formed.begin());
    return result;
}

} // namespace attn
