#include "engine/analysis/weighted_attention.h"

#include "engine/analysis/whole_run.h"
#include "engine/core/error.h"
#include "engine/models/hook_names.h"
#include "engine/ops/tensor_ops.h"

#include <fmt/format.h>

namespace attn {
namespace {

constexpr int64_t kMostTokens = 1024; // limits the T x T numbers that are computed

Tensor lengths(Tensor x) { // [..,T,C] -> [..,T,1]
    return unary(reduce(unary(x, Unary::Square), Reduction::Sum, {-1}), Unary::SquareRoot);
}

} // namespace

std::shared_ptr<AnalysisResult> WeightedAttentionAnalysis::run(RunningModel& model,
                                                               const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    info.requireHead(site, head);
    const Site& own = info.site(site);
    const int layer = own.layer;
    if (model.ordersByWindow(site))
        throw Error({.what = fmt::format("layer {} attends within windows", layer),
                     .where = info.name,
                     .hint = "choose a model whose patches attend to the whole picture"});
    WholeRun whole(model, context.input);
    const std::string prefix = attentionHook(layer, "");
    const Tensor v = whole.hook(prefix + "v"); // [T,G,D]
    const int64_t T = v.shape()[0], G = v.shape()[1], D = v.shape()[2],
                  C = info.structure.streams[static_cast<size_t>(own.queryStream)].width;
    const int64_t count = context.input.isText() ? whole.tokens() : T;
    if (count > kMostTokens)
        throw Error({.what = fmt::format("{} tokens are too many for weighted patterns", count),
                     .where = info.name,
                     .hint = fmt::format("use at most {}", kMostTokens)});
    const Tensor vOfHead = reshape(slice(v, 1, head / (own.heads / G), 1), {T, D});
    const Tensor output = slice(whole.weight(layer, "attn.W_O", {C, own.heads * D}), 1, head * D, D); // [C,D]
    const Tensor values = lengths(vOfHead), outputs = lengths(batchedMatmul(vOfHead, output, {.transposeB = true}));
    const Tensor pattern = reshape(slice(whole.hook(prefix + "pattern"), 0, head, 1), {T, T});
    const auto weighted = [&](Tensor norms) { return multiply(pattern, reshape(norms, {1, T})); };
    whole.compile({{"pattern", pattern},
                   {"values", values},
                   {"outputs", outputs},
                   {"value_weighted", weighted(values)},
                   {"norm_weighted", weighted(outputs)}});
    whole.run();
    auto result = std::make_shared<WeightedAttention>();
    result->site = site;
    result->head = head;
    result->tokens = static_cast<int>(count);
    const auto cells = [&](const char* name) { return withoutPadding(whole.result(name), T, count); };
    const auto row = [&](const char* name) {
        std::vector<float> all = whole.result(name);
        all.resize(static_cast<size_t>(count));
        return all;
    };
    result->pattern = cells("pattern");
    result->valueNorms = row("values");
    result->outputNorms = row("outputs");
    result->valueWeighted = cells("value_weighted");
    result->normWeighted = cells("norm_weighted");
    return result;
}

} // namespace attn
