#include "engine/analysis/input_attribution.h"

#include "engine/analysis/quadrature.h"
#include "engine/analysis/text_rows.h"
#include "engine/analysis/whole_run.h"
#include "engine/inference/language_model.h"
#include "engine/inference/vision_model.h"
#include "engine/models/model_builder.h"
#include "engine/models/patch_stream.h"
#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/dense_result.h"
#include "engine/runtime/gpu_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace attn {
namespace {

/// [C]: the mean of hook_embed over the vocabulary of a stack.
std::vector<float> meanEmbedding(LanguageModel& model, const std::string& stack) {
    const auto graph = std::make_shared<Graph>();
    const Tensor rows = vocabularyEmbedding(model.config(), *graph, stack);
    const auto executor = weightRun(model, graph, {{"mean", reduce(rows, Reduction::Mean, {0})}});
    executor->run({});
    return denseResult(*executor, "mean");
}

/// The straight line from a baseline to an input.
struct Way {
    Tensor point{};                               ///< [N,width], N at least the rows of the input
    size_t rows = 0;                              ///< tokens or patches
    std::vector<float> baseline{};                ///< [width] of every row
    std::function<void(double share)> prepare{};  ///< writes the input at this fraction of the line
    std::function<std::vector<float>()> target{}; ///< the values of `point` at the end of the line, after a run there
};

/// The sites at which the streams of a text model begin: first the source's, if there is one, then the text's.
std::vector<int> firstSites(const ModelStructure& structure) {
    std::vector<int> first{0};
    if (structure.hasTwoStacks()) first.push_back(structure.sitesOf(structure.sites.back().queryStream).front());
    return first;
}

Way wayOf(LanguageModel& model, WholeRun& whole, const Site& site, size_t rows) {
    const std::string hook = site.inStack("hook_embed");
    Way way{.point = whole.hook(hook),
            .rows = rows,
            .baseline = meanEmbedding(model, site.stack()),
            .target = [&whole, hook] { return whole.result(hook); }};
    way.prepare = [&whole, hook, isChanged = model.hookChanges().hooks().contains(hook), mean = way.baseline,
                   stride = static_cast<size_t>(way.point.shape().rowStride())](double share) {
        const auto kept = whole.executor().input(decoder_names::kept(hook)),
                   added = whole.executor().input(decoder_names::added(hook));
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
    const ModelSpec& config = model.config();
    const Shape shape{config.patches.grid().area(), config.patches.patchValues()};
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
    const ModelStructure& structure = model.info().structure;
    std::vector<int> sites; // of a text
    std::set<std::string> changed;
    if (isText) sites = firstSites(structure);
    for (const int site : sites) changed.insert(model.info().site(site).inStack("hook_embed"));
    WholeRun whole(model, context.input, {.changed = changed, .needsGradients = true});
    const int at = whole.predictAfter(position);
    const Tensor logit = targetLogit(whole.prediction());
    std::vector<Way> ways; // the points of all streams move at the same time
    for (const int site : sites) {
        const Site& begin = model.info().site(site);
        ways.push_back(
            wayOf(languageModel(model), whole, begin, TextRows(structure, context.input).count(begin.queryStream)));
    }
    if (!isText) ways.push_back(wayOf(visionModel(model), whole, context.input.patches()));
    std::vector<Tensor> points;
    for (const Way& way : ways) points.push_back(way.point);
    const std::vector<Tensor> slopes = gradient(logit, points, {.isForTraining = false});
    const auto slopeName = [](size_t way) { return fmt::format("slope.{}", way); };
    std::map<std::string, Tensor> outputs{{"logits", whole.prediction()}};
    for (const std::string& hook : changed) outputs.emplace(hook, whole.hook(hook));
    for (size_t way = 0; way < ways.size(); ++way)
        if (slopes[way]) outputs.emplace(slopeName(way), slopes[way]);
    whole.compile(outputs);

    const auto runAt = [&](double share) {
        if (isText) whole.prepare();
        for (const Way& way : ways) way.prepare(share);
        whole.run();
    };
    auto result = std::make_shared<InputAttribution>();
    result->position = at;
    writeTarget(whole.executor(), {.token = 0});
    runAt(1);
    result->target = resolved(target, whole.result("logits"), model.info());
    writeTarget(whole.executor(), result->target);
    runAt(1);
    const auto logitNow = [&] { return static_cast<float>(logitOf(result->target, whole.result("logits"))); };
    result->logit = logitNow();
    std::vector<std::vector<float>> directions;
    for (const Way& way : ways) directions.push_back(way.target());
    // The directional derivative of the logit at each row along `directions`.
    const auto along = [&] {
        std::vector<double> sums;
        for (size_t way = 0; way < ways.size(); ++way) {
            const size_t first = sums.size(), width = ways[way].baseline.size();
            sums.resize(first + ways[way].rows, 0);
            if (!slopes[way]) continue;
            const std::vector<float> values = whole.result(slopeName(way));
            for (size_t i = 0; i < ways[way].rows * width; ++i)
                sums[first + i / width] += static_cast<double>(values[i]) * static_cast<double>(directions[way][i]);
        }
        return sums;
    };
    const std::vector<double> products = along();
    result->gradientTimesInput.assign(products.begin(), products.end());
    if (steps <= 0) return result;
    runAt(0);
    result->baselineLogit = logitNow();
    for (size_t way = 0; way < ways.size(); ++way)
        for (size_t i = 0; i < directions[way].size(); ++i)
            directions[way][i] -= ways[way].baseline[i % ways[way].baseline.size()];
    const double difference = static_cast<double>(result->logit) - static_cast<double>(result->baselineLogit);
    float done = 0; // progress: each rule takes half of the rest, because another one may follow
    for (result->steps = steps;; result->steps *= 2) {
        const bool isLast = 2 * result->steps > mostSteps;
        const float part = isLast ? 1 - done : (1 - done) / 2;
        std::vector<double> integral(products.size(), 0);
        for (const QuadratureNode& node : gaussLegendre(result->steps)) {
            if (context.report)
                context.report(done + part * static_cast<float>(node.at),
                               fmt::format("integrated gradients, {} nodes", result->steps));
            runAt(node.at);
            const std::vector<double> values = along();
            for (size_t i = 0; i < values.size(); ++i) integral[i] += node.weight * values[i];
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
