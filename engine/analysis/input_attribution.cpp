#include "engine/analysis/input_attribution.h"

#include "engine/analysis/quadrature.h"
#include "engine/analysis/whole_run.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/decoder.h"
#include "engine/models/vision_encoder.h"
#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/dense_result.h"
#include "engine/runtime/gpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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

/// The straight way from the baseline of an input to the input itself.
struct Way {
    Tensor point{};                               ///< [N,width], N at least the rows of the input
    size_t rows = 0;                              ///< tokens or patches
    std::vector<float> baseline{};                ///< [width] of every row
    std::function<void(double share)> prepare{};  ///< writes the input at this share of the way
    std::function<std::vector<float>()> target{}; ///< the values of `point` at its end, after a run there
};

Way wayOf(LanguageModel& model, WholeRun& whole) {
    const bool isChanged = model.hookEdits().hooks().contains(kEmbed);
    Way way{.point = whole.hook(kEmbed),
            .rows = static_cast<size_t>(whole.tokens()),
            .baseline = meanEmbedding(model),
            .target = [&whole] { return whole.result("point"); }};
    way.prepare = [&whole, isChanged, mean = way.baseline,
                   stride = static_cast<size_t>(way.point.shape().rowStride())](double share) {
        whole.prepare();
        const auto kept = whole.executor().input(decoder_names::kept(kEmbed)),
                   added = whole.executor().input(decoder_names::added(kEmbed));
        if (!isChanged) {
            std::ranges::fill(kept, 1.0f);
            std::ranges::fill(added, 0.0f);
        }
        for (float& value : kept) value *= static_cast<float>(share);
        for (size_t i = 0; i < added.size(); ++i) {
            const double from = i % stride < mean.size() ? static_cast<double>(mean[i % stride]) : 0;
            added[i] = static_cast<float>(static_cast<double>(added[i]) * share + from * (1 - share));
        }
    };
    return way;
}

Way wayOf(VisionModel& model, WholeRun& whole, const std::vector<float>& patches) {
    const VisionConfig& config = model.config();
    const Shape shape{config.grid().area(), config.patchValues()};
    return {.point = whole.graph().input(vision_names::kPatches, {.shape = shape}),
            .rows = static_cast<size_t>(shape[0]),
            .baseline = std::vector<float>(static_cast<size_t>(shape[1]), 0),
            .prepare =
                [&model, &whole, &patches](double share) {
                    std::vector<float> part = patches;
                    for (float& value : part) value *= static_cast<float>(share);
                    model.writeWhole(whole.executor(), part);
                },
            .target = [&patches] { return patches; }};
}

} // namespace

std::shared_ptr<AnalysisResult> InputAttributionAnalysis::run(RunningModel& model,
                                                              const AnalysisContext& context) const {
    const bool isText = context.input.isText();
    WholeRun whole(model, context.input,
                   {.edited = isText ? std::set<std::string>{kEmbed} : std::set<std::string>(), .mayTrain = true});
    const int at = whole.predictAfter(position);
    Graph& graph = whole.graph();
    const Tensor logit = sum(multiply(whole.prediction(), targetInput(graph, model.choices())));
    const Way path =
        isText ? wayOf(languageModel(model), whole) : wayOf(visionModel(model), whole, context.input.patches());
    const Tensor slope = gradient(logit, std::array{path.point}).front();
    std::map<std::string, Tensor> outputs{{"logit", logit}, {"logits", whole.prediction()}};
    if (isText) outputs.emplace("point", path.point);
    if (slope) outputs.emplace("slope", slope);
    whole.compile(outputs);

    const auto runAt = [&](double share) {
        path.prepare(share);
        whole.run();
    };
    auto result = std::make_shared<InputAttribution>();
    result->position = at;
    writeTarget(whole.executor(), {.token = 0});
    runAt(1);
    result->target = resolved(target, whole.result("logits"));
    writeTarget(whole.executor(), result->target);
    const size_t width = path.baseline.size();
    // The directional derivative at each row along `way`, [N,width].
    const auto along = [&](const std::vector<float>& way) {
        std::vector<double> sums(path.rows, 0);
        if (!slope) return sums;
        const std::vector<float> slopes = whole.result("slope");
        for (size_t i = 0; i < path.rows * width; ++i)
            sums[i / width] += static_cast<double>(slopes[i]) * static_cast<double>(way[i]);
        return sums;
    };
    runAt(1);
    result->logit = whole.result("logit").front();
    std::vector<float> way = path.target();
    const std::vector<double> products = along(way);
    result->gradientTimesInput.assign(products.begin(), products.end());
    if (steps <= 0) return result;
    runAt(0);
    result->baselineLogit = whole.result("logit").front();
    for (size_t i = 0; i < way.size(); ++i) way[i] -= path.baseline[i % width];
    const double difference = static_cast<double>(result->logit) - static_cast<double>(result->baselineLogit);
    float done = 0; // progress: each rule takes half of the rest, because another may follow
    for (result->steps = steps;; result->steps *= 2) {
        const bool isLast = 2 * result->steps > mostSteps;
        const float part = isLast ? 1 - done : (1 - done) / 2;
        std::vector<double> integral(path.rows, 0);
        for (const QuadratureNode& node : gaussLegendre(result->steps)) {
            if (context.report)
                context.report(done + part * static_cast<float>(node.at),
                               fmt::format("integrated gradients, {} nodes", result->steps));
            runAt(node.at);
            const std::vector<double> values = along(way);
            for (size_t i = 0; i < path.rows; ++i) integral[i] += node.weight * values[i];
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
