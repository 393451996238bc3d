#include "engine/analysis/analysis.h"

#include "engine/inference/running_model.h"

namespace attn {

std::shared_ptr<AnalysisResult> runAnalysis(const Analysis& analysis, RunningModel& model,
                                            const AnalysisContext& context) {
    auto result = analysis.run(model, context);
    FiniteCount numbers;
    result->count(numbers);
    numbers.require("numbers", model.info().name);
    return result;
}

} // namespace attn
