#include "engine/analysis/formed_path.h"

#include "engine/inference/finite_count.h"
#include "engine/inference/running_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace attn {

void FormedDistance::add(const ModelInfo& model, std::span<const float> own, std::span<const float> formed) {
    for (const std::span<const float> each : {own, formed}) requireLogits(each, model.name, model.activation);
    for (size_t id = 0; id < own.size(); ++id) {
        if (std::isinf(own[id]) && std::isinf(formed[id])) continue;
        difference = std::max(difference, std::abs(own[id] - formed[id]));
        largest = std::max(largest, std::abs(formed[id]));
    }
}

std::shared_ptr<AnalysisResult> FormedPathAnalysis::run(RunningModel& model, const AnalysisContext& context) const {
    const Input& input = context.input;
    const std::vector<float> all = model.formedLogits(input);
    const auto size = static_cast<size_t>(model.choices());
    const auto formed = std::span(all).subspan(model.predictedRow(input) * size, size);
    // With a cache, only the last token is run, and the views show its results.
    const std::vector<float> own = model.predictFrom(input, input.isText() ? input.tokens().size() - 1 : 0);
    FormedDistance distance;
    distance.add(model.info(), own, formed);

    auto result = std::make_shared<FormedPath>();
    result->largestDifference = distance.difference;
    result->largestLogit = distance.largest;
    result->ids.resize(size);
    std::iota(result->ids.begin(), result->ids.end(), 0);
    std::erase_if(result->ids, [&](int id) { return std::isinf(own[static_cast<size_t>(id)]); }); // barred
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
