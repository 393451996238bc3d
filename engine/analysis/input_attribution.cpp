#include "engine/analysis/input_attribution.h"

#include "engine/analysis/quadrature.h"
#include "engine/analysis/whole_run.h"
#include "engine/inference/hook_edits.h"
#include "engine/inference/language_model.h"
#include "engine/models/decoder.h"
#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/dense_result.h"
#include "engine/runtime/gpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace attn {
namespace {

constexpr const char* kEmbed = "hook_embed";

/// [C]: the mean of hook_embed over the vocabulary.
std::vector<float> meanEmbedding(LanguageModel& model) {
    const auto graph = std::make_shared<Graph>();
    const auto executor =
        weightRun(model, graph, {{"mean", reduce(vocabularyEmbedding(model.config(), *graph), Reduction::Mean, {0})}});
    executor->run({});
    return denseResult(*executor, "mean");
}

} // namespace

std::shared_ptr<AnalysisResult> InputAttributionAnalysis::run(RunningModel& running,
                                                              const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    const bool isChanged = model.hookEdits().hooks().contains(kEmbed);
    WholeRun whole(model, context.input, {kEmbed});
    const int at = whole.position(position);
    Graph& graph = whole.graph();
    const Tensor row = graph.input("analysis.position", {.shape = {1}, .dtype = DType::I32});
    const Tensor logits = take(whole.logits(), row); // [1,V]
    const Tensor logit = sum(multiply(logits, targetInput(graph, model.info().vocabulary)));
    const Tensor embedded = whole.hook(kEmbed); // interpolated embeddings, [T,C]
    const Tensor slope = gradient(logit, std::array{embedded}).front();
    std::map<std::string, Tensor> outputs{{"logit", logit}, {"logits", logits}, {"embedded", embedded}};
    if (slope) outputs.emplace("slope", slope);
    whole.compile(outputs);
    GpuExecutor& executor = whole.executor();
    executor.inputIntegers("analysis.position")[0] = at;

    const std::vector<float> mean = meanEmbedding(model);
    const auto stride = static_cast<size_t>(embedded.shape().rowStride());
    // Runs at a fraction of the way from the mean to the embeddings.
    const auto runAt = [&](double share) {
        whole.prepare();
        const auto kept = executor.input(decoder_names::kept(kEmbed)),
                   added = executor.input(decoder_names::added(kEmbed));
        if (!isChanged) {
            std::ranges::fill(kept, 1.0f);
            std::ranges::fill(added, 0.0f);
        }
        for (float& value : kept) value *= static_cast<float>(share);
        for (size_t i = 0; i < added.size(); ++i) {
            const double from = i % stride < mean.size() ? static_cast<double>(mean[i % stride]) : 0;
            added[i] = static_cast<float>(static_cast<double>(added[i]) * share + from * (1 - share));
        }
        whole.run();
    };
    auto result = std::make_shared<InputAttribution>();
    result->position = at;
    writeTarget(executor, {.token = 0});
    runAt(1);
    result->target = resolved(target, whole.result("logits"));
    writeTarget(executor, result->target);
    const auto tokens = static_cast<size_t>(whole.tokens());
    // The directional derivative at each token along `way`, [T,C].
    const auto along = [&](const std::vector<float>& way) {
        std::vector<double> sums(tokens, 0);
        if (!slope) return sums;
        const std::vector<float> slopes = whole.result("slope");
        for (size_t i = 0; i < tokens * mean.size(); ++i)
            sums[i / mean.size()] += static_cast<double>(slopes[i]) * static_cast<double>(way[i]);
        return sums;
    };
    runAt(1);
    result->logit = whole.result("logit").front();
    std::vector<float> way = whole.result("embedded");
    const std::vector<double> products = along(way);
    result->gradientTimesInput.assign(products.begin(), products.end());
    if (steps <= 0) return result;
    runAt(0);
    result->baselineLogit = whole.result("logit").front();
    for (size_t i = 0; i < way.size(); ++i) way[i] -= mean[i % mean.size()];
    const double difference = static_cast<double>(result->logit) - static_cast<double>(result->baselineLogit);
    float done = 0; // progress: each rule takes half of the rest, because another may follow
    for (result->steps = steps;; result->steps *= 2) {
        const bool isLast = 2 * result->steps > mostSteps;
        const float part = isLast ? 1 - done : (1 - done) / 2;
        std::vector<double> integral(tokens, 0);
        for (const QuadratureNode& node : gaussLegendre(result->steps)) {
            if (context.report)
                context.report(done + part * static_cast<float>(node.at),
                               fmt::format("integrated gradients, {} nodes", result->steps));
            runAt(node.at);
            const std::vector<double> values = along(way);
            for (size_t token = 0; token < tokens; ++token) integral[token] += node.weight * values[token];
        }
        result->integratedGradients.assign(integral.begin(), integral.end());
        const double missing = difference - std::accumulate(integral.begin(), integral.end(), 0.0);
        if (std::abs(missing) <= 0.01 * std::abs(difference) || isLast) break;
        done += part;
    }
    return result;
}

std::shared_ptr<const Analysis> InputAttributionAnalysis::settled(const AnalysisResult& result) const {
    auto same = std::make_shared<InputAttributionAnalysis>(*this);
    same->target = static_cast<const InputAttribution&>(result).target;
    return same;
}

} // namespace attn
