#include "engine/analysis/input_attribution.h"

#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "engine/session/hook_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr const char* kEmbed = "hook_embed";

} // namespace

std::shared_ptr<AnalysisResult> InputAttributionAnalysis::run(LanguageModel& model, const AnalysisInput& input) const {
    const bool isChanged = model.hookEdits().hooks().contains(kEmbed);
    WholeRun whole(model, input.tokens, {kEmbed});
    const int at = whole.position(position);
    Graph& graph = whole.graph();
    const Tensor row = graph.input("analysis.position", {.shape = {1}, .dtype = DType::I32});
    const Tensor logits = take(whole.logits(), row); // [1,V]
    const Tensor logit = sum(multiply(logits, targetInput(graph, model.info().vocabulary)));
    const Tensor embedded = whole.hook(kEmbed); // share of the embeddings, [T,C]
    const Tensor slope = gradient(logit, std::array{embedded}).front();
    std::map<std::string, Tensor> outputs{{"logit", logit}, {"logits", logits}};
    // Of each token: its embedding times the slope, summed up.
    if (slope) outputs.emplace("products", reduce(multiply(embedded, slope), Reduction::Sum, {1}));
    whole.compile(outputs);
    GpuExecutor& executor = whole.executor();
    executor.inputIntegers("analysis.position")[0] = at;

    const auto runWith = [&](float share) {
        whole.prepare();
        const auto kept = executor.input(decoder_names::kept(kEmbed)),
                   added = executor.input(decoder_names::added(kEmbed));
        if (!isChanged) {
            std::ranges::fill(kept, 1.0f);
            std::ranges::fill(added, 0.0f);
        }
        for (float& value : kept) value *= share;
        for (float& value : added) value *= share;
        whole.run();
    };
    auto result = std::make_shared<InputAttribution>();
    result->position = at;
    writeTarget(executor, {.token = 0});
    runWith(1);
    result->target = resolved(target, whole.result("logits"));
    writeTarget(executor, result->target);
    const auto tokens = static_cast<size_t>(whole.tokens());
    const auto products = [&] {
        std::vector<float> values = slope ? whole.result("products") : std::vector<float>(tokens, 0);
        values.resize(tokens);
        return values;
    };
    runWith(1);
    result->logit = whole.result("logit").front();
    result->gradientTimesInput = products();
    if (steps <= 0) return result;
    result->steps = steps;
    result->integratedGradients.assign(tokens, 0);
    for (int step = 0; step < steps; ++step) {
        if (input.report) input.report(static_cast<float>(step) / static_cast<float>(steps), "integrated gradients");
        // share = s^3 at midpoints of s: an RMS norm turns small shares into whole ones, so most happens near 0.
        const float s = (static_cast<float>(step) + 0.5f) / static_cast<float>(steps), share = s * s * s;
        runWith(share);
        const std::vector<float> values = products(); // of the share: the slope times the whole is this by the share
        for (size_t token = 0; token < tokens; ++token)
            result->integratedGradients[token] += values[token] / s * 3 / static_cast<float>(steps); // d share / share
    }
    runWith(0);
    result->baselineLogit = whole.result("logit").front();
    return result;
}

} // namespace attn
