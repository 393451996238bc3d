#include "engine/analysis/class_attribution.h"

#include "engine/analysis/quadrature.h"
#include "engine/core/error.h"
#include "engine/inference/vision_model.h"
#include "engine/models/decoder.h"
#include "engine/models/hook_names.h"
#include "engine/models/vision_encoder.h"
#include "engine/ops/gradient.h"
#include "engine/ops/ops.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/dense_result.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

using Kind = LogitAttribution::Kind;

constexpr const char* kAsked = "analysis.classes"; // Input [1, classes]

/// The classifier from the last residual stream to the logits. The divisor of the final norm is held, so it is linear.
class LinearHead {
public:
    LinearHead(const VisionConfig& config, Graph& graph) : config_(config), graph_(graph) {}

    Tensor logits(Tensor stream) const { // [T,C] -> [1, classes]
        const Tensor rows = config_.normAfterPooling ? stream : normed(stream);
        const Tensor read = pooled(rows);
        const Tensor own = head(config_.normAfterPooling ? normed(read) : read, "head");
        if (!config_.distillationHead) return own;
        return affine(add(own, head(slice(rows, 0, 1, 1), "distillation_head")), 0.5, 0);
    }

private:
    Tensor normed(Tensor x) const {
        if (!config_.finalNorm || config_.norm == NormKind::None) return x;
        const int64_t C = x.shape().columns();
        const bool centres = config_.norm == NormKind::LayerNorm;
        if (centres) x = binary(x, reduce(x, Reduction::Mean, {1}), Binary::Subtract);
        const Tensor variance = affine(reduce(unary(x, Unary::Square), Reduction::Mean, {1}), 1, config_.normEpsilon);
        const Tensor held = stopGradient(unary(variance, Unary::ReciprocalSquareRoot));
        x = binary(binary(x, held, Binary::Multiply), reshape(graph_.parameter("ln_final.w", {C}), {1, C}),
                   Binary::Multiply);
        return centres ? binary(x, reshape(graph_.parameter("ln_final.b", {C}), {1, C}), Binary::Add) : x;
    }
    Tensor pooled(Tensor rows) const {
        const Tensor first = config_.clsToken ? slice(rows, 0, 0, 1) : Tensor();
        if (config_.pooling == VisionPooling::Cls) return first;
        const int64_t P = config_.prefix();
        const Tensor mean = reduce(slice(rows, 0, P, rows.shape()[0] - P), Reduction::Mean, {0});
        return config_.pooling == VisionPooling::Mean ? mean : concatenate(std::array{first, mean}, -1);
    }
    Tensor head(Tensor x, const std::string& name) const {
        return matmul(x, graph_.parameter(name + ".W_H", {config_.classes, x.shape().columns()}),
                      {.bias = graph_.parameter(name + ".b_H", {config_.classes})});
    }

    const VisionConfig& config_;
    Graph& graph_;
};

/// The first layer after which no layer merges or pools tokens: from here on the residual stream is a sum.
int64_t firstSummed(const VisionConfig& config) {
    const int64_t merged = config.merges.empty() ? 0 : config.merges.back();
    return std::max(merged, config.pools.empty() ? 0 : config.pools.back().layer);
}

/// The terms of the last residual stream, each as its product with the gradient of the logit.
class Parts {
public:
    Parts(const VisionConfig& config, Graph& graph, Tensor slope) : config_(config), graph_(graph), slope_(slope) {}

    void add(Kind kind, int layer, Tensor rows) { // [T,C]
        list.push_back({.kind = kind, .layer = layer});
        values.push_back(reshape(reduce(multiply(rows, slope_), Reduction::Sum, {0, 1}), {1}));
    }
    void addHook(Kind kind, int layer, const std::string& hook) {
        const auto probe = graph_.probes().find(hook);
        if (probe != graph_.probes().end()) add(kind, layer, probe->second.tensor);
    }
    void addAttention(int layer) {
        const auto at = static_cast<size_t>(layer);
        const std::string prefix = inBlock(layer, "");
        const auto& spec = config_.layers[at].spec;
        const bool isWindowed = at < config_.windows.size() && config_.windows[at].size > 0;
        if (isWindowed || graph_.isEdited(prefix + "hook_attn_out") ||
            (spec && (spec->parts.at(Slot::Output).id != "plain" || spec->blockPart(Slot::Layers))))
            return addHook(Kind::Attention, layer, prefix + "hook_attn_out");
        const Tensor z = graph_.probes().at(prefix + "attn.hook_z").tensor; // [T,H,D]
        const int64_t C = slope_.shape().columns(), T = z.shape()[0], H = z.shape()[1], D = z.shape()[2];
        Tensor slope = slope_;
        if (config_.layerScale)
            slope = binary(slope, reshape(graph_.parameter(prefix + "scale1", {C}), {1, C}), Binary::Multiply);
        const Tensor byHead =
            reshape(batchedMatmul(slope, graph_.parameter(prefix + "attn.W_O", {C, H * D})), {T, H, D});
        for (int head = 0; head < static_cast<int>(H); ++head)
            list.push_back({.kind = Kind::Head, .layer = layer, .head = head});
        values.push_back(reshape(reduce(multiply(z, byHead), Reduction::Sum, {0, 2}), {H}));
        if (!config_.layers[at].outputBias) return;
        list.push_back({.kind = Kind::AttentionBias, .layer = layer});
        const Tensor bias = reshape(graph_.parameter(prefix + "attn.b_O", {C}), {1, C});
        values.push_back(reshape(reduce(binary(slope, bias, Binary::Multiply), Reduction::Sum, {0, 1}), {1}));
    }

    std::vector<LogitAttribution::Component> list;
    std::vector<Tensor> values; ///< one per component, [1] or [H] each

private:
    const VisionConfig& config_;
    Graph& graph_;
    Tensor slope_;
};

/// Chooses the target logits after a run that finds the largest.
LogitTarget aim(VisionModel& model, GpuExecutor& executor, LogitTarget target, const Input& input) {
    writeTarget(executor.input(kAsked), {.token = 0});
    model.writeWhole(executor, input);
    executor.run({});
    target = resolved(target, denseResult(executor, "logits"));
    writeTarget(executor.input(kAsked), target);
    return target;
}

} // namespace

std::shared_ptr<AnalysisResult> ClassAttributionAnalysis::run(RunningModel& running,
                                                              const AnalysisContext& context) const {
    VisionModel& model = visionModel(running);
    model.requireHead();
    const VisionConfig& config = model.config();
    const auto& last = config.layers.back().spec;
    if (last && (last->blockPart(Slot::Norm) || last->blockPart(Slot::Residual)))
        throw Error({.what = "this model's logits cannot be split into contributions: its final norm is not a layer "
                             "norm or RMS norm of a "
                             "single residual stream",
                     .where = model.info().name,
                     .hint = "use the class lens or the patch attributions"});
    const ModelGraph encoder = model.wholeGraph(context.input, {});
    Graph& graph = *encoder.graph;
    const int layers = model.info().layers;
    const Tensor stream = graph.probes().at(inBlock(layers - 1, "hook_resid_post")).tensor; // [T,C]
    const Tensor asked = graph.input(kAsked, {.shape = {1, config.classes}});
    const Tensor logit = sum(multiply(LinearHead(config, graph).logits(stream), asked));
    const Tensor slope = gradient(logit, std::array{stream}).front();

    Parts parts(config, graph, slope);
    const auto first = static_cast<int>(firstSummed(config));
    if (first == 0) {
        parts.addHook(Kind::Embedding, -1, "hook_embed");
        parts.addHook(Kind::Position, -1, "hook_pos_embed");
    }
    for (int layer = first; layer < layers; ++layer) {
        parts.addAttention(layer);
        parts.addHook(Kind::FeedForward, layer, inBlock(layer, "hook_mlp_out"));
    }
    std::map<std::string, Tensor> outputs{{"logits", encoder.logits},
                                          {"values", concatenate(parts.values, 0)},
                                          {"linear", logit},
                                          {"stream", reduce(multiply(stream, slope), Reduction::Sum, {0, 1})}};
    const auto executor = model.executorOf(encoder, outputs);
    auto result = std::make_shared<ClassAttribution>();
    result->target = aim(model, *executor, target, context.input);
    executor->run({});
    result->logit = static_cast<float>(logitOf(result->target, denseResult(*executor, "logits")));
    const std::vector<float> values = denseResult(*executor, "values");
    const double whole = static_cast<double>(denseResult(*executor, "stream").front());
    double known = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        parts.list[i].value = values[i];
        known += static_cast<double>(values[i]);
    }
    parts.list.push_back({.kind = Kind::Rest, .value = static_cast<float>(whole - known)});
    parts.list.push_back(
        {.kind = Kind::Bias,
         .value = static_cast<float>(static_cast<double>(denseResult(*executor, "linear").front()) - whole)});
    result->components = std::move(parts.list);
    return result;
}

std::shared_ptr<AnalysisResult> PatchAttributionAnalysis::run(RunningModel& running,
                                                              const AnalysisContext& context) const {
    VisionModel& model = visionModel(running);
    model.requireHead();
    const ModelGraph encoder = model.wholeGraph(context.input, {.mayTrain = true});
    Graph& graph = *encoder.graph;
    const VisionConfig& config = model.config();
    const auto N = static_cast<size_t>(config.grid().area());
    const Tensor logit = sum(multiply(encoder.logits, graph.input(kAsked, {.shape = {1, config.classes}})));
    const Tensor patches = graph.input(vision_names::kPatches, {.shape = {config.grid().area(), config.patchValues()}});
    const Tensor slope = gradient(logit, std::array{patches}).front();
    const auto executor =
        model.executorOf(encoder, {{"logits", encoder.logits},
                                   {"logit", logit},
                                   {"products", reduce(multiply(patches, slope), Reduction::Sum, {1})}});
    auto result = std::make_shared<PatchAttribution>();
    result->target = aim(model, *executor, target, context.input);
    const auto runWith = [&](float share) {
        std::vector<float> part(context.input.patches().begin(), context.input.patches().end());
        for (float& value : part) value *= share;
        model.writeWhole(*executor, part);
        executor->run({});
    };
    runWith(1);
    result->logit = denseResult(*executor, "logit").front();
    result->gradientTimesInput = denseResult(*executor, "products");
    if (steps <= 0) return result;
    result->steps = steps;
    std::vector<double> integral(N, 0);
    for (const QuadratureNode& node : gaussLegendre(steps)) {
        if (context.report) context.report(static_cast<float>(node.at), "integrated gradients");
        runWith(static_cast<float>(node.at));
        const std::vector<float> values = denseResult(*executor, "products"); // of the share
        for (size_t patch = 0; patch < N; ++patch)
            integral[patch] += node.weight * static_cast<double>(values[patch]) / node.at;
    }
    result->integratedGradients.assign(integral.begin(), integral.end());
    runWith(0);
    result->baselineLogit = denseResult(*executor, "logit").front();
    return result;
}

} // namespace attn
