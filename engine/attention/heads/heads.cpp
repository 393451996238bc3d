#include "engine/attention/head_counts.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/bucket_attention.h"

#include <cmath>

namespace attn {
namespace {

using namespace terms;

constexpr Param kHeads{"heads", "Query heads", "Number of query heads", Param::Kind::Integer, 1, 64, 1, 4};
constexpr std::array<Param, 1> kHeadsOnly{kHeads};
constexpr std::array<Param, 2> kHeadsAndGroups{
    {kHeads,
     {"groups", "Key/value heads", "Number of key/value heads; it must divide the number of heads",
      Param::Kind::Integer, 1, 64, 1, 2}}};

// Shared query and key -----------------------------------------------------------------------------------------------

void buildSharedKeys(AttentionFlow& flow, PartValues) { flow.k = unitRows(flow.q); }
void buildSelfPenalty(AttentionFlow& flow, PartValues) {
    const int64_t T = flow.queries, count = T + flow.keys - 1;
    const Tensor penalty =
        flow.byDistance("heads.self", 1, [](int64_t distance, int64_t) { return distance == 0 ? -kOwnPenalty : 0; });
    flow.addToScores("heads.self", diagonals(broadcast(reshape(penalty, {1, count}), {T, count}), flow.keys));
}
void fuseSelfPenalty(AttentionFlow& flow, PartValues, FusedScores& fused) {
    fused.add(flow, [](int64_t, int64_t distance) { return distance == 0 ? -kOwnPenalty : 0; });
}
void referenceSharedKeys(ReferenceFlow& flow, PartValues) {
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t i = 0; i < flow.keys; ++i) {
            double sum = 1e-12;
            for (int64_t d = 0; d < flow.width; ++d) sum += flow.q.at(h, i, d) * flow.q.at(h, i, d);
            for (int64_t d = 0; d < flow.width; ++d) flow.k.at(h, i, d) = flow.q.at(h, i, d) / std::sqrt(sum);
        }
}
void referenceSelfPenalty(ReferenceFlow& flow, PartValues) {
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t i = 0; i < flow.queries; ++i) flow.scores.at(h, i, i) -= kOwnPenalty;
}

// Talking heads ------------------------------------------------------------------------------------------------------

/// Every head becomes a learned mixture of all heads. @param x [B,H,T,S]
Tensor mixedHeads(AttentionFlow& flow, Tensor x, const std::string& name) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, columns = x.shape()[3];
    const Tensor w = flow.parameter(name, {H, H}, {InitialValue::Kind::Identity, 0.1});
    return reshape(batchedMatmul(w, reshape(x, {B, H, T * columns})), {B, H, T, columns});
}
void mixReference(ReferenceFlow& flow, Dense& x, const Dense& w) {
    const Dense before = x;
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < x.extents[2]; ++s) {
                x.at(h, t, s) = 0;
                for (int64_t g = 0; g < flow.heads; ++g) x.at(h, t, s) += w.at(h, g) * before.at(g, t, s);
            }
}
void buildTalkingScores(AttentionFlow& flow, PartValues) {
    flow.scores = mixedHeads(flow, flow.scores, "heads.scores");
}
void buildTalkingWeights(AttentionFlow& flow, PartValues) {
    flow.pattern = mixedHeads(flow, flow.pattern, "heads.weights");
}
void referenceTalkingScores(ReferenceFlow& flow, PartValues) {
    mixReference(flow, flow.scores, flow.parameters.at("heads.scores"));
}
void referenceTalkingWeights(ReferenceFlow& flow, PartValues) {
    mixReference(flow, flow.pattern, flow.parameters.at("heads.weights"));
}

} // namespace

HeadCounts headCounts(const AttentionSpec& spec) {
    const Part& part = spec.part(Slot::Heads);
    if (mixesStream(spec) || &part == &kSingleHead) return {1, 1};
    const PartValues values = spec.values(Slot::Heads);
    const int64_t heads = values.integer("heads");
    if (&part == &kMultiQuery) return {heads, 1};
    if (&part == &kGroupedQuery) return {heads, values.integer("groups")};
    return {heads, heads};
}

bool mixesStream(const AttentionSpec& spec) { return spec.part(Slot::Mixer).mix.mixesStream; }

int64_t headWidth(const AttentionSpec& spec, int64_t width) { return width / headCounts(spec).heads; }

void setHeads(AttentionSpec& spec, HeadCounts counts) {
    const auto number = [](int64_t count) { return static_cast<double>(count); };
    if (counts.groups != counts.heads)
        spec.put(Slot::Heads, kGroupedQuery.id, {number(counts.heads), number(counts.groups)});
    else if (counts.heads == 1)
        spec.put(Slot::Heads, kSingleHead.id, {});
    else
        spec.put(Slot::Heads, kMultiHead.id, {number(counts.heads)});
}

void multiplyHeads(AttentionSpec& spec, int64_t factor) {
    const HeadCounts counts = headCounts(spec);
    if (saysOnlyCount(spec))
        return setHeads(spec, {counts.heads * factor, counts.groups * factor}); // one has no number
    for (double& count : spec.parts.at(Slot::Heads).values) count *= static_cast<double>(factor);
}

bool saysOnlyCount(const AttentionSpec& spec) {
    const Part& part = spec.part(Slot::Heads);
    return &part == &kSingleHead || &part == &kMultiHead;
}

const Part kSingleHead{
    .id = "single",
    .slot = Slot::Heads,
    .title = "One head",
    .idea = "All features share one pattern. Each token can look for only one thing at a time.",
    .formula = "z_i = sum_j A(i,j) v_j",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2.1", "arXiv:1706.03762"},
    .time = "O(T S C)",
    .memory = "O(T S)"};

const Part kMultiHead{
    .id = "multi_head",
    .slot = Slot::Heads,
    .title = "Multi-head",
    .idea = "The features are divided among heads that attend independently. This costs the same as one head but "
            "gives every token several patterns at once.",
    .formula = "z_i = [z_i^1, ..., z_i^H] W_O",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2.2", "arXiv:1706.03762"},
    .params = kHeadsOnly,
    .time = "O(T S C)",
    .memory = "O(H T S), or O(T C) fused"};

const Part kMultiQuery{.id = "multi_query",
                       .slot = Slot::Heads,
                       .title = "Multi-query",
                       .idea = "All query heads share one head of keys and values. The key/value cache, which slows "
                               "generation down, shrinks by the number of heads.",
                       .formula = "z_i^h = sum_j softmax_j(q_i^h . k_j / sqrt(D)) v_j",
                       .source = {"Shazeer", 2019, "Fast Transformer Decoding: One Write-Head is All You Need",
                                  "section 3", "arXiv:1911.02150"},
                       .params = kHeadsOnly,
                       .time = "O(T S C)",
                       .memory = "O(S D) cached"};

const Part kGroupedQuery{
    .id = "grouped_query",
    .slot = Slot::Heads,
    .title = "Grouped-query",
    .idea = "Each group of query heads shares one head of keys and values. Memory and quality lie between those of "
            "multi-head and multi-query.",
    .formula = "z_i^h = sum_j softmax_j(q_i^h . k_j^g / sqrt(D)) v_j^g, g = floor(h G / H)",
    .source = {"Ainslie et al.", 2023,
               "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", "section 2.2",
               "arXiv:2305.13245"},
    .params = kHeadsAndGroups,
    .time = "O(T S C)",
    .memory = "O(S G D) cached"};

const Part kSharedQueryKey{.id = "shared_query_key",
                           .slot = Slot::Heads,
                           .title = "Shared query and key",
                           .idea = "A token's key is its query, scaled to length one, so similar tokens fall into the "
                                   "same hash bucket. Every token is most similar to itself, so it may see itself "
                                   "only when it sees no other token.",
                           .formula = "k_j = q_j / |q_j|; s(i,i) lowered by 256",
                           .source = {"Kitaev et al.", 2020, "Reformer: The Efficient Transformer",
                                      "section 2, shared-QK Transformer", "arXiv:2001.04451"},
                           .params = kHeadsOnly,
                           .time = "O(T^2 C)",
                           .memory = "O(H T^2)",
                           .hooks = {{Stage::QueriesKeys, buildSharedKeys, referenceSharedKeys},
                                     {Stage::Bias, buildSelfPenalty, referenceSelfPenalty, fuseSelfPenalty}},
                           .sharesQueryKey = true,
                           .actsOnScores = true,
                           .needsEqualLengths = true};

const Part kTalkingHeads{.id = "talking",
                         .slot = Slot::Heads,
                         .title = "Talking heads",
                         .idea = "A learned matrix mixes the heads' scores before the softmax, and another mixes "
                                 "their patterns after it. The heads are no longer independent.",
                         .formula = "A = P_w softmax(P_l (Q K^T / sqrt(D)))",
                         .source = {"Shazeer et al.", 2020, "Talking-Heads Attention", "section 4", "arXiv:2003.02436"},
                         .params = kHeadsOnly,
                         .time = "O(T S (C + H^2))",
                         .memory = "O(H T S)",
                         .hooks = {{Stage::Bias, buildTalkingScores, referenceTalkingScores},
                                   {Stage::Weights, buildTalkingWeights, referenceTalkingWeights}},
                         .actsOnScores = true,
                         .mixesHeads = true};

} // namespace attn
