#include "engine/analysis/logit_attribution.h"

#include "engine/analysis/whole_run.h"
#include "engine/attention/part.h"
#include "engine/models/head_name.h"
#include "engine/models/hook_names.h"
#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/tensor_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

using Kind = LogitAttribution::Kind;

/// The terms of the last residual stream, each as its product with the gradient of the logit.
class Parts {
public:
    Parts(const WholeRun& whole, Tensor slope) : whole_(whole), slope_(slope) {}

    void addHook(Kind kind, int layer, const std::string& hook) { // [T,C]
        if (!whole_.has(hook)) return;
        list.push_back({.kind = kind, .layer = layer});
        values.push_back(reshape(reduce(multiply(whole_.hook(hook), slope_), Reduction::Sum, {0, 1}), {1}));
    }
    /// z of each head times the head's part of W_O; one term if heads are mixed before they are added.
    void addAttention(int site) {
        const LayerAttention& attention = whole_.model().attentionOf(site);
        const std::string sum = inBlock(site, "hook_attn_out");
        const Tensor z = whole_.hook(attentionHook(site, "z")); // [T,H,D]
        const int64_t C = slope_.shape().columns(), T = z.shape()[0], H = z.shape()[1], D = z.shape()[2];
        const bool isMixed = !attention.spec.part(Slot::Output).hooks.empty();
        if (isMixed || whole_.model().ordersByWindow(site) || whole_.graph().isEdited(sum))
            return addHook(Kind::Attention, site, sum);
        Tensor slope = slope_;
        if (const std::string scale = inBlock(site, "scale1"); whole_.model().store().contains(scale))
            slope = binary(slope, reshape(whole_.graph().parameter(scale, {C}), {1, C}), Binary::Multiply);
        const Tensor byHead = reshape(batchedMatmul(slope, whole_.weight(site, "attn.W_O", {C, H * D})), {T, H, D});
        for (int head = 0; head < static_cast<int>(H); ++head)
            list.push_back({.kind = Kind::Head, .layer = site, .head = head});
        values.push_back(reshape(reduce(multiply(z, byHead), Reduction::Sum, {0, 2}), {H}));
        if (!attention.outputBias) return;
        list.push_back({.kind = Kind::AttentionBias, .layer = site});
        const Tensor bias = reshape(whole_.weight(site, "attn.b_O", {C}), {1, C});
        values.push_back(reshape(reduce(binary(slope, bias, Binary::Multiply), Reduction::Sum, {0, 1}), {1}));
    }

    std::vector<LogitAttribution::Component> list;
    std::vector<Tensor> values; ///< one per component, [1] or [H] each

private:
    const WholeRun& whole_;
    Tensor slope_;
};

/// The first layer from which on the residual stream is a sum: its stream is the last one.
int firstSummed(const ModelStructure& structure) {
    const auto first = std::ranges::find(structure.sites, structure.sites.back().queryStream, &Site::queryStream);
    return static_cast<int>(first - structure.sites.begin());
}

} // namespace

std::string LogitAttribution::Component::name() const {
    switch (kind) {
    case Kind::Embedding:
        return "embedding";
    case Kind::Position:
        return "position";
    case Kind::Head:
        return headName(layer, head);
    case Kind::AttentionBias:
        return fmt::format("L{} attention bias", layer);
    case Kind::Attention:
        return fmt::format("L{} attention", layer);
    case Kind::FeedForward:
        return fmt::format("L{} MLP", layer);
    case Kind::Rest:
        return "rest";
    case Kind::Bias:
        return "final bias";
    }
    return {};
}

std::shared_ptr<AnalysisResult> LogitAttributionAnalysis::run(RunningModel& model,
                                                              const AnalysisContext& context) const {
    WholeRun whole(model, context.input);
    Graph& graph = whole.graph();
    const int layers = model.info().layers;
    const int at = whole.predictAfter(position);
    const Tensor stream = whole.hook(inBlock(layers - 1, "hook_resid_post")); // [T,C]
    const Tensor linear = sum(multiply(model.linearReadout(stream, whole.row()), targetInput(graph, model.choices())));
    const Tensor slope = gradient(linear, std::array{stream}).front();

    Parts parts(whole, slope);
    const int first = firstSummed(model.info().structure);
    if (first == 0) {
        parts.addHook(Kind::Embedding, -1, "hook_embed");
        parts.addHook(Kind::Position, -1, "hook_pos_embed");
    }
    for (int layer = first; layer < layers; ++layer) {
        parts.addAttention(layer);
        parts.addHook(Kind::FeedForward, layer, inBlock(layer, "hook_mlp_out"));
    }
    whole.compile({{"logits", whole.prediction()},
                   {"values", concatenate(parts.values, 0)},
                   {"linear", linear},
                   {"stream", reduce(multiply(stream, slope), Reduction::Sum, {0, 1})}});

    auto result = std::make_shared<LogitAttribution>();
    result->position = at;
    result->target = target;
    if (target.token < 0) { // the top prediction
        writeTarget(whole.executor(), {.token = 0});
        whole.run();
        result->target = resolved(target, whole.result("logits"));
    }
    result->target = resolved(result->target, std::vector<float>(static_cast<size_t>(model.choices())));
    writeTarget(whole.executor(), result->target);
    whole.run();
    result->logit = static_cast<float>(logitOf(result->target, whole.result("logits")));
    const std::vector<float> values = whole.result("values");
    const double all = static_cast<double>(whole.result("stream").front());
    double known = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        parts.list[i].value = values[i];
        known += static_cast<double>(values[i]);
    }
    parts.list.push_back({.kind = Kind::Rest, .value = static_cast<float>(all - known)});
    const TensorStore& store = model.store();
    if (store.contains("ln_final.b") || store.contains("unembed.b_U") || store.contains("head.b_H"))
        parts.list.push_back({.kind = Kind::Bias,
                              .value = static_cast<float>(static_cast<double>(whole.result("linear").front()) - all)});
    result->components = std::move(parts.list);
    return result;
}

std::shared_ptr<const Analysis> LogitAttributionAnalysis::settled(const AnalysisResult& result) const {
    auto same = std::make_shared<LogitAttributionAnalysis>(*this);
    same->target = static_cast<const LogitAttribution&>(result).target;
    return same;
}

} // namespace attn
