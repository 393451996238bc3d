#include "engine/analysis/weighted_attention.h"

#include "engine/analysis/text_rows.h"
#include "engine/analysis/whole_run.h"
#include "engine/attention/part.h"
#include "engine/core/error.h"
#include "engine/ops/tensor_ops.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {
namespace {

constexpr size_t kMostTokens = 1024; // limits the T x T numbers that are computed

Tensor lengths(Tensor x) { // [..,T,C] -> [..,T,1]
    return unary(reduce(unary(x, Unary::Square), Reduction::Sum, {-1}), Unary::SquareRoot);
}

} // namespace

std::shared_ptr<AnalysisResult> WeightedAttentionAnalysis::run(RunningModel& model,
                                                               const AnalysisContext& context) const {
    const ModelInfo& info = model.info();
    info.requireHead(site, head);
    const Site& own = info.site(site);
    if (model.ordersByWindow(site))
        throw Error({.what = fmt::format("layer {} attends within windows", own.layer),
                     .where = info.name,
                     .hint = "choose a model whose patches attend to the whole picture"});
    const AttentionSpec& spec = model.attentionOf(site).spec;
    if (const Part& last = spec.part(Slot::Output); !last.hooks.empty())
        throw Error(
            {.what = fmt::format("{} changes the outputs of heads before W_O, so its part of W_O alone does not "
                                 "say how far a value moves the stream",
                                 last.title),
             .where = info.name,
             .hint = "use logit attribution, or a layer with output=plain"});
    if (const Part& position = spec.part(Slot::Position); !position.position.addedToValues.empty())
        throw Error({.what = fmt::format("{} adds a vector for each distance to the values, so a value's length "
                                         "depends on the query",
                                         position.title),
                     .where = info.name,
                     .hint = "use logit attribution, or a layer with other positions"});
    WholeRun whole(model, context.input, {}, WholeRun::Needs::Nothing);
    const Tensor v = whole.hook(own.hook("v")), p = whole.hook(own.hook("pattern")); // [S,G,D], [H,T,S]
    const int64_t S = v.shape()[0], G = v.shape()[1], D = v.shape()[2], T = p.shape()[1],
                  C = info.structure.streams[static_cast<size_t>(own.queryStream)].width;
    auto queries = static_cast<size_t>(T), keys = static_cast<size_t>(S); // without padding
    if (context.input.isText()) {
        const TextRows rows(info.structure, context.input);
        queries = rows.count(own.queryStream);
        keys = rows.count(own.keyStream);
    }
    if (const size_t most = std::max(queries, keys); most > kMostTokens)
        throw Error({.what = fmt::format("{} tokens are too many for weighted patterns", most),
                     .where = info.name,
                     .hint = fmt::format("use at most {}", kMostTokens)});
    const Tensor vOfHead = reshape(slice(v, 1, head / (own.heads / G), 1), {S, D});
    const Tensor output = slice(whole.weight(site, "W_O", {C, own.heads * D}), 1, head * D, D); // [C,D]
    const Tensor values = lengths(vOfHead), outputs = lengths(batchedMatmul(vOfHead, output, {.transposeB = true}));
    const Tensor pattern = reshape(slice(p, 0, head, 1), {T, S});
    const auto weighted = [&](Tensor norms) { return multiply(pattern, reshape(norms, {1, S})); };
    whole.compile({{"pattern", pattern},
                   {"values", values},
                   {"outputs", outputs},
                   {"value_weighted", weighted(values)},
                   {"norm_weighted", weighted(outputs)}});
    whole.run();
    auto result = std::make_shared<WeightedAttention>();
    result->site = site;
    result->head = head;
    result->queries = static_cast<int>(queries);
    result->keys = static_cast<int>(keys);
    const auto cells = [&](const char* name) {
        return withoutPadding(whole.result(name), {T, S}, static_cast<int64_t>(queries), static_cast<int64_t>(keys));
    };
    const auto row = [&](const char* name) {
        std::vector<float> all = whole.result(name);
        all.resize(keys);
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
