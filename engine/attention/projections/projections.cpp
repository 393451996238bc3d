#include "engine/attention/parts.h"
#include "engine/attention/spec_hooks.h"
#include "engine/attention/terms.h"

#include <algorithm>
#include <cmath>
#include <utility>

// Which matrices make queries, keys and values of the tokens.

namespace attn {
namespace {

using namespace terms;

constexpr std::array<Param, 1> kGlobalParams{
    {{"g", "Global tokens", "The first g tokens have projections of their own; the mask makes them global",
      Param::Kind::Integer, 1, 4096, 1, 1}}};

/// The other matrices. @param letter "Q", "K" or "V"  @param x what the ordinary ones gave, [B,heads,N,D]
Projection otherProjection(AttentionFlow& flow, const char* letter, Tensor x) {
    if (flow.otherProjection) return flow.otherProjection(letter);
    const int64_t D = flow.width;
    const InitialValue initial{InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(D))};
    return {.rows = x, .weight = flow.parameter(std::string("projections.W_") + letter, {x.shape()[1], D, D}, initial)};
}
/// @param rows the first of them that are projected
Tensor projected(const Projection& by, int64_t rows) {
    const Tensor x = product(slice(by.rows, 2, 0, rows), by.weight);
    return by.bias ? plus(x, by.bias) : x;
}

void buildGlobal(AttentionFlow& flow, PartValues values) {
    flow.globals = std::min<int64_t>(values.integer("g"), flow.isStep() ? flow.context : flow.queries);
    const Projection toQueries = otherProjection(flow, "Q", flow.q), toKeys = otherProjection(flow, "K", flow.k),
                     toValues = otherProjection(flow, "V", flow.v);
    const auto all = [&](const char* letter, const Projection& by) {
        return flow.projectAgain ? flow.projectAgain(letter) : projected(by, by.rows.shape()[2]);
    };
    const Tensor q = all("Q", toQueries), k = all("K", toKeys);
    flow.globalValues = all("V", toValues);
    // The keys pass through the other parts, which turn them by their positions, beside the queries that read them.
    const Tensor ownQueries = std::exchange(flow.q, q), ownKeys = std::exchange(flow.k, k);
    const auto shown = flow.shown;
    forHooks(flow.spec, Stage::QueriesKeys, [&](const Hook& hook, PartValues of) {
        if (hook.build != buildGlobal) hook.build(flow, of);
    });
    flow.shown = shown;
    if (!flow.isStep() && flow.q == q && flow.k == k) // no part turns them
        flow.globalRows = {
            .queries = projected(toQueries, flow.globals), .ordinary = ownQueries, .keys = toKeys, .values = toValues};
    flow.globalKeys = std::exchange(flow.k, ownKeys);
    flow.q = flow.byGlobals(q, ownQueries);
}

/// @param x [H,N,D]
Dense projectedReference(ReferenceFlow& flow, const char* letter, const Dense& x) {
    const Dense& w = flow.parameters.at(std::string("projections.W_") + letter); // [H or G, D, D]
    Dense result(x.extents);
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t i = 0; i < x.extents[1]; ++i)
            for (int64_t d = 0; d < flow.width; ++d)
                for (int64_t e = 0; e < flow.width; ++e)
                    result.at(h, i, d) += w.at(h * w.extents[0] / flow.heads, d, e) * x.at(h, i, e);
    return result;
}

void referenceGlobal(ReferenceFlow& flow, PartValues values) {
    flow.globals = std::min<int64_t>(values.integer("g"), flow.queries);
    const Dense q = projectedReference(flow, "Q", flow.q);
    flow.globalValues = projectedReference(flow, "V", flow.v);
    Dense queries = std::exchange(flow.q, q), keys = std::exchange(flow.k, projectedReference(flow, "K", flow.k));
    forHooks(flow.spec, Stage::QueriesKeys, [&](const Hook& hook, PartValues of) {
        if (hook.build != buildGlobal) hook.reference(flow, of);
    });
    flow.globalKeys = std::exchange(flow.k, std::move(keys));
    flow.q = std::move(queries);
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.globals; ++t)
            for (int64_t d = 0; d < flow.width; ++d) flow.q.at(h, t, d) = q.at(h, t, d);
}

} // namespace

const Part kOneProjection{
    .id = "one",
    .slot = Slot::Projections,
    .title = "One set",
    .idea = "The same three matrices make the query, the key and the value of every token. What a token looks for "
            "depends on its content alone.",
    .formula = "q_i = W_Q x_i, k_i = W_K x_i, v_i = W_V x_i",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2.2", "arXiv:1706.03762"},
    .time = "O(T C^2)",
    .memory = "O(C^2) parameters"};

const Part kGlobalProjections{
    .id = "global",
    .slot = Slot::Projections,
    .title = "Own projections of global tokens",
    .idea = "The first g tokens, which the mask lets see everything, ask with other matrices: their queries meet other "
            "keys and read other values of all tokens. All other tokens keep the ordinary ones, also where they look "
            "at a global token.",
    .formula = "z_i = sum_j softmax_j(W_Q^g x_i . W_K^g x_j / sqrt(D)) W_V^g x_j for i < g",
    .source = {"Beltagy et al.", 2020, "Longformer: The Long-Document Transformer",
               "section 3.1, linear projections for global attention", "arXiv:2004.05150"},
    .params = kGlobalParams,
    .time = "O(T g D), and O(T C^2) where parts turn the keys",
    .memory = "O(C^2) parameters",
    .hooks = {{Stage::QueriesKeys, buildGlobal, referenceGlobal}},
    .actsOnScores = true,
    .needsEqualLengths = true};

} // namespace attn
