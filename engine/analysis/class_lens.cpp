#include "engine/analysis/class_lens.h"

#include "engine/inference/vision_model.h"
#include "engine/ops/ops.h"
#include "engine/runtime/dense_result.h"

#include <fmt/format.h>

namespace attn {

std::shared_ptr<AnalysisResult> ClassLensAnalysis::run(RunningModel& running, const AnalysisContext& context) const {
    VisionModel& model = visionModel(running);
    model.requireHead();
    const ModelGraph encoder = model.wholeGraph(context.input, {.readsAllLayers = true});
    std::map<std::string, Tensor> outputs;
    const auto name = [](const char* what, size_t stage) { return fmt::format("{}.{}", what, stage); };
    for (size_t stage = 0; stage < encoder.stages.size(); ++stage) {
        if (encoder.stages[stage]) outputs.emplace(name("read", stage), softmax(encoder.stages[stage]));
        if (encoder.tokenStages[stage]) outputs.emplace(name("tokens", stage), softmax(encoder.tokenStages[stage]));
    }
    const auto executor = model.executorOf(encoder, outputs);
    model.writeWhole(*executor, context.input);
    executor->run({});
    auto result = std::make_shared<ClassLens>();
    result->classes = model.info().classes;
    for (size_t stage = 0; stage < encoder.stages.size(); ++stage) {
        if (!encoder.stages[stage]) continue;
        ClassLens::Stage read{.layer = static_cast<int>(stage) - 1,
                              .probabilities = denseResult(*executor, name("read", stage)),
                              .tokens = 0,
                              .byToken = {}};
        if (const Tensor tokens = encoder.tokenStages[stage]) {
            read.tokens = static_cast<int>(tokens.shape()[0]);
            read.byToken = denseResult(*executor, name("tokens", stage));
        }
        result->stages.push_back(std::move(read));
    }
    return result;
}

} // namespace attn
