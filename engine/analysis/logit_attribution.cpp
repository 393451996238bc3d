#include "engine/analysis/logit_attribution.h"

#include "engine/analysis/whole_run.h"
#include "engine/attention/part.h"
#include "engine/inference/named_changes.h"
#include "engine/models/head_name.h"
#include "engine/ops/gradient.h"
#include "engine/ops/tensor_ops.h"
#include "engine/runtime/tensor_store.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attn {
namespace {

using Kind = LogitAttribution::Kind;

/// The terms of the last residual stream. Each is multiplied with the gradient of the logit.
class Parts {
public:
    Parts(const WholeRun& whole, Tensor slope) : whole_(whole), slope_(slope) {}

    void addHook(Kind kind, int layer, std::string name, const std::string& hook) { // [T,C]
        if (!whole_.has(hook)) return;
        list.push_back({.kind = kind, .layer = layer, .name = std::move(name)});
        values.push_back(reshape(reduce(multiply(whole_.hook(hook), slope_), Reduction::Sum, {0, 1}), {1}));
    }
    /// Adds z of each head times the head's part of W_O, or one term if heads are mixed first.
    void addAttention(int site) {
        const LayerAttention& attention = whole_.model().attentionOf(site);
        const Site& at = structure().sites[static_cast<size_t>(site)];
        const std::string sum = outputHook(at), label = structure().labelOf(site);
        const Tensor z = whole_.hook(at.hook("z")); // [T,H,D]
        const int64_t C = slope_.shape().columns(), T = z.shape()[0], H = z.shape()[1], D = z.shape()[2];
        const bool isMixed = !attention.spec.part(Slot::Output).hooks.empty();
        if (isMixed || whole_.model().ordersByWindow(site) || whole_.graph().isChanged(sum))
            return addHook(Kind::Attention, at.layer, label + " attention", sum);
        Tensor slope = slope_;
        if (const std::string scale = at.inBlock("scale1"); whole_.model().store().contains(scale))
            slope = binary(slope, reshape(whole_.graph().parameter(scale, {C}), {1, C}), Binary::Multiply);
        const Tensor byHead = reshape(batchedMatmul(slope, whole_.weight(site, "W_O", {C, H * D})), {T, H, D});
        for (int head = 0; head < static_cast<int>(H); ++head)
            list.push_back(
                {.kind = Kind::Head, .layer = at.layer, .head = head, .site = site, .name = headName(label, head)});
        values.push_back(reshape(reduce(multiply(z, byHead), Reduction::Sum, {0, 2}), {H}));
        if (!attention.outputBias) return;
        list.push_back({.kind = Kind::AttentionBias, .layer = at.layer, .name = label + " attention bias"});
        const Tensor bias = reshape(whole_.weight(site, "b_O", {C}), {1, C});
        values.push_back(reshape(reduce(binary(slope, bias, Binary::Multiply), Reduction::Sum, {0, 1}), {1}));
    }

    std::vector<LogitAttribution::Component> list;
    std::vector<Tensor> values; ///< one per component, [1] or [H] each

private:
    const ModelStructure& structure() const { return whole_.model().info().structure; }

    const WholeRun& whole_;
    Tensor slope_;
};

template <class T> std::shared_ptr<const Analysis> withTargetOf(const T& analysis, const AnalysisResult& result) {
    auto same = std::make_shared<T>(analysis);
    same->target = static_cast<const LogitAttribution&>(result).target;
    return same;
}

} // namespace

std::shared_ptr<AnalysisResult> LogitAttributionAnalysis::run(RunningModel& model,
                                                              const AnalysisContext& context) const {
    WholeRun whole(model, context.input);
    const ModelStructure& structure = model.info().structure;
    const int at = whole.predictAfter(position);
    const Site& last = structure.sites.back();
    const Tensor stream = whole.hook(last.inBlock("hook_resid_post")); // [T,C]
    const Tensor linear = targetLogit(model.linearReadout(stream, whole.row()));
    const Tensor slope = gradient(linear, std::array{stream}).front();

    Parts parts(whole, slope);
    const std::vector<int> summed = structure.sitesOf(last.queryStream);      // the residual stream is their sum
    const bool beginsModel = summed.front() == 0 || model.info().readsSource; // not after tokens were merged
    if (beginsModel) {
        parts.addHook(Kind::Embedding, -1, "embedding", last.inStack("hook_embed"));
        parts.addHook(Kind::Position, -1, "position", last.inStack("hook_pos_embed"));
    }
    for (size_t i = 0; i < summed.size(); ++i) {
        const Site& site = structure.sites[static_cast<size_t>(summed[i])];
        parts.addAttention(summed[i]);
        if (i + 1 < summed.size() && structure.sites[static_cast<size_t>(summed[i + 1])].block == site.block) continue;
        parts.addHook(Kind::FeedForward, site.layer, structure.blockLabelOf(summed[i]) + " MLP",
                      site.inBlock("hook_mlp_out"));
    }
    whole.compile({{"logits", whole.prediction()},
                   {"values", concatenate(parts.values, 0)},
                   {"linear", linear},
                   {"stream", reduce(multiply(stream, slope), Reduction::Sum, {0, 1})}});

    auto result = std::make_shared<LogitAttribution>();
    result->position = at;
    writeTarget(whole.executor(), {.token = 0});
    whole.run();
    result->target = resolved(target, whole.result("logits"), model.info());
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
    parts.list.push_back({.kind = Kind::Rest, .name = "rest", .value = static_cast<float>(all - known)});
    const TensorStore& store = model.store();
    if (store.contains(last.inStack("ln_final.b")) || store.contains("unembed.b_U") || store.contains("head.b_H"))
        parts.list.push_back({.kind = Kind::Bias,
                              .name = "final bias",
                              .value = static_cast<float>(static_cast<double>(whole.result("linear").front()) - all)});
    result->components = std::move(parts.list);
    return result;
}

std::shared_ptr<const Analysis> LogitAttributionAnalysis::settled(const AnalysisResult& result) const {
    return withTargetOf(*this, result);
}

std::shared_ptr<const Analysis> LogitFlowAnalysis::settled(const AnalysisResult& result) const {
    return withTargetOf(*this, result);
}

} // namespace attn
