#include "engine/analysis/logit_attribution.h"

#include "engine/analysis/whole_run.h"
#include "engine/attention/slot.h"
#include "engine/core/error.h"
#include "engine/inference/language_model.h"
#include "engine/models/decoder.h"
#include "engine/models/hook_names.h"
#include "engine/ops/tensor_ops.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

using Kind = LogitAttribution::Kind;

bool mixesHeads(const DecoderConfig& config, size_t layer) {
    const auto& spec = config.layers[layer].spec;
    return spec && spec->parts.at(Slot::Output).id != "plain";
}

/// The terms of the residual stream at one token, and the component of each.
class Components {
public:
    Components(const WholeRun& whole, Tensor position) : whole_(whole), position_(position) {}

    void add(Kind kind, int layer, Tensor row) { // [1,C]
        list.push_back({.kind = kind, .layer = layer});
        rows.push_back(row);
    }
    void addHook(Kind kind, int layer, const std::string& hook) {
        if (whole_.has(hook)) add(kind, layer, take(whole_.hook(hook), position_));
    }
    /// z of each head times the head's part of W_O.
    void addHeads(int layer, int64_t C) {
        const Tensor z = whole_.hook(attentionHook(layer, "z")); // [T,H,D]
        const int64_t T = z.shape()[0], H = z.shape()[1], D = z.shape()[2];
        const Tensor own = reshape(take(reshape(z, {T, H * D}), position_), {H, 1, D});
        const Tensor output = permute(reshape(whole_.weight(layer, "attn.W_O", {C, H * D}), {C, H, D}), {1, 2, 0});
        const Tensor added = reshape(batchedMatmul(own, output), {H, C}); // [H,1,D] . [H,D,C]
        for (int head = 0; head < static_cast<int>(H); ++head)
            list.push_back({.kind = Kind::Head, .layer = layer, .head = head});
        rows.push_back(added);
    }

    std::vector<LogitAttribution::Component> list;
    std::vector<Tensor> rows;

private:
    const WholeRun& whole_;
    Tensor position_;
};

} // namespace

std::string LogitAttribution::Component::name() const {
    switch (kind) {
    case Kind::Embedding:
        return "embedding";
    case Kind::Position:
        return "position";
    case Kind::Head:
        return fmt::format("layer {}, head {}", layer, head);
    case Kind::AttentionBias:
        return fmt::format("layer {}, attention bias", layer);
    case Kind::Attention:
        return fmt::format("layer {}, attention", layer);
    case Kind::FeedForward:
        return fmt::format("layer {}, MLP", layer);
    case Kind::Rest:
        return "rest";
    case Kind::Bias:
        return "final bias";
    }
    return {};
}

std::shared_ptr<AnalysisResult> LogitAttributionAnalysis::run(RunningModel& running,
                                                              const AnalysisContext& context) const {
    LanguageModel& model = languageModel(running);
    const DecoderConfig& config = model.config();
    const int64_t C = config.modelWidth, V = config.vocabulary;
    const auto& last = config.layers.back().spec;
    if (model.streamWidth() != C || (last && (last->blockPart(Slot::Norm) || last->blockPart(Slot::Residual))))
        throw Error({.what = "this model's logits cannot be split into contributions: its final norm is not a layer "
                             "norm or RMS norm of a "
                             "single residual stream",
                     .where = model.info().name,
                     .hint = "use the logit lens or the input attributions"});
    WholeRun whole(model, context.input);
    const int at = whole.position(position);
    Graph& graph = whole.graph();
    const Tensor row = graph.input("analysis.position", {.shape = {1}, .dtype = DType::I32});
    Components parts(whole, row);
    parts.addHook(Kind::Embedding, -1, "hook_embed");
    parts.addHook(Kind::Position, -1, "hook_pos_embed");
    for (int layer = 0; layer < model.info().layers; ++layer) {
        const std::string prefix = inBlock(layer, "");
        if (mixesHeads(config, static_cast<size_t>(layer)) || graph.isEdited(prefix + "hook_attn_out")) {
            parts.addHook(Kind::Attention, layer, prefix + "hook_attn_out");
        } else {
            parts.addHeads(layer, C);
            if (config.layers[static_cast<size_t>(layer)].outputBias)
                parts.add(Kind::AttentionBias, layer, reshape(whole.weight(layer, "attn.b_O", {C}), {1, C}));
        }
        parts.addHook(Kind::FeedForward, layer, prefix + "hook_mlp_out");
    }
    const Tensor stream = take(whole.hook(inBlock(model.info().layers - 1, "hook_resid_post")), row);
    const Tensor known = concatenate(parts.rows, 0);
    const Tensor rest = binary(stream, reduce(known, Reduction::Sum, {0}), Binary::Subtract);
    parts.add(Kind::Rest, -1, rest);
    Tensor rows = concatenate(std::vector{known, rest}, 0); // [N,C]

    // The norm is linear except for its divisor, which is held at its value for the whole residual stream.
    const bool centres = config.finalNorm && config.norm == NormKind::LayerNorm;
    const auto centred = [&](Tensor x) { return binary(x, reduce(x, Reduction::Mean, {1}), Binary::Subtract); };
    const Tensor asked = targetInput(graph, V); // [1,V]
    Tensor direction =
        batchedMatmul(asked, graph.parameter(config.tiedEmbedding ? "embed.W_E" : "unembed.W_U", {V, C})); // [1,C]
    std::vector<Tensor> biases;
    if (config.unembedBias) biases.push_back(multiply(asked, reshape(graph.parameter("unembed.b_U", {V}), {1, V})));
    if (config.finalNorm && config.norm != NormKind::None) {
        if (centres) biases.push_back(multiply(direction, reshape(graph.parameter("ln_final.b", {C}), {1, C})));
        direction = multiply(direction, reshape(graph.parameter("ln_final.w", {C}), {1, C}));
        const Tensor normed = centres ? centred(stream) : stream;
        const Tensor variance =
            affine(reduce(unary(normed, Unary::Square), Reduction::Mean, {1}), 1, config.normEpsilon);
        direction = binary(direction, unary(variance, Unary::ReciprocalSquareRoot), Binary::Multiply);
        if (centres) rows = centred(rows);
    }
    std::map<std::string, Tensor> outputs{{"values", batchedMatmul(rows, direction, {.transposeB = true})}, // [N,1]
                                          {"logits", take(whole.logits(), row)}};
    for (size_t i = 0; i < biases.size(); ++i)
        outputs.emplace(fmt::format("bias.{}", i), reduce(biases[i], Reduction::Sum, {1}));
    whole.compile(outputs);
    whole.executor().inputIntegers("analysis.position")[0] = at;

    auto result = std::make_shared<LogitAttribution>();
    result->position = at;
    LogitTarget wanted = target;
    if (wanted.token < 0) { // the top prediction at that position
        writeTarget(whole.executor(), {.token = 0});
        whole.run();
        wanted = resolved(wanted, whole.result("logits"));
    }
    wanted = resolved(wanted, std::vector<float>(static_cast<size_t>(V)));
    writeTarget(whole.executor(), wanted);
    whole.run();
    result->target = wanted;
    result->logit = static_cast<float>(logitOf(wanted, whole.result("logits")));
    const std::vector<float> values = whole.result("values");
    result->components = std::move(parts.list);
    for (size_t i = 0; i < values.size(); ++i) result->components[i].value = values[i];
    float bias = 0;
    for (size_t i = 0; i < biases.size(); ++i) bias += whole.result(fmt::format("bias.{}", i)).front();
    if (!biases.empty()) result->components.push_back({.kind = Kind::Bias, .value = bias});
    return result;
}

std::shared_ptr<const Analysis> LogitAttributionAnalysis::settled(const AnalysisResult& result) const {
    auto same = std::make_shared<LogitAttributionAnalysis>(*this);
    same->target = static_cast<const LogitAttribution&>(result).target;
    return same;
}

} // namespace attn
