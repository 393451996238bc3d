#include "engine/attention/mask/content_terms.h"
#include "engine/attention/terms.h"
#include "engine/core/random_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn {
namespace {

using namespace terms;

constexpr Param kSeed{"seed", "Seed", "Seed of the random directions", Param::Kind::Integer, 0, 1e6, 1, 0};

void hideUnless(AttentionFlow& flow, Tensor isVisible) {
    flow.scores = select(isVisible, flow.scores, fill(flow.graph, {1, 1}, kMasked));
}

// Routing ------------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 4> kRoutingParams{
    {{"clusters", "Clusters", "Number of centroids", Param::Kind::Integer, 1, 256, 1, 4},
     {"members", "Members", "Queries and keys nearest to a centroid that see each other", Param::Kind::Integer, 1, 4096,
      1, 8},
     {"rounds", "Rounds", "Rounds of k-means from random centroids", Param::Kind::Integer, 0, 8, 1, 3},
     kSeed}};

/// Moves random centroids to the data: in each round every row joins the nearest centroid, which moves to the mean of
/// its rows.
/// @param x [B,H,rows,D] of length 1  @return [B,H,c,D]
Tensor centroidsOf(AttentionFlow& flow, Tensor x, PartValues values) {
    const int64_t count = values.integer("clusters");
    std::vector<float> numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    const Tensor names = flow.constant("mask.clusters", {count, 1}, std::move(numbers));
    Tensor centroids = unitRows(broadcast(
        flow.constant("mask.centroids", {1, 1, count, flow.width}, gaussianRows(count, flow.width, 1, values.seed())),
        {flow.batch, flow.heads, count, flow.width}));
    for (int round = 0; round < values.integer("rounds"); ++round) {
        const Tensor nearest = toReal(argmax(product(x, centroids))); // [B,H,rows]
        const Tensor row = reshape(nearest, {flow.batch, flow.heads, 1, x.shape()[2]});
        const Tensor joins = binary(names, row, Binary::Equal);                                         // [B,H,c,rows]
        const Tensor isEmpty = binary(sumOver(joins, -1), fill(flow.graph, {1, 1}, 0.5), Binary::Less); // [B,H,c,1]
        centroids = select(isEmpty, centroids, unitRows(batchedMatmul(joins, x)));
    }
    return centroids;
}

/// 1 for the `members` rows nearest to each centroid. @return [B,H,c,rows]
Tensor membersOf(AttentionFlow& flow, Tensor x, Tensor centroids, PartValues values) {
    const int64_t rows = x.shape()[2], count = centroids.shape()[2];
    const int64_t members = std::min<int64_t>(values.integer("members"), rows);
    const Tensor near = product(centroids, x); // [B,H,c,rows]
    const Tensor best = topK(reshape(near, {flow.batch * flow.heads * count, rows}), members).values;
    const Tensor least = reshape(slice(best, 1, members - 1, 1), {flow.batch, flow.heads, count, 1});
    return affine(binary(near, least, Binary::Less), -1, 1);
}

void buildRouting(AttentionFlow& flow, PartValues values) {
    const Tensor q = stopGradient(unitRows(flow.q)), k = stopGradient(unitRows(flow.k));
    const Tensor centroids = centroidsOf(flow, k, values);
    const Tensor queries = membersOf(flow, q, centroids, values), keys = membersOf(flow, k, centroids, values);
    const Tensor together = batchedMatmul(queries, keys, {.transposeA = true}); // [B,H,T,S]: clusters they share
    const Tensor isTogether = affine(binary(together, fill(flow.graph, {1, 1}, 0.5), Binary::Less), -1, 1);
    flow.show("routing.clusters", keys);
    flow.show("mask.content", isTogether);
    hideUnless(flow, isTogether);
}
void referenceRouting(ReferenceFlow& flow, PartValues values) {
    const auto count = static_cast<size_t>(values.integer("clusters"));
    const auto D = static_cast<size_t>(flow.width);
    using Rows = std::vector<std::vector<double>>;
    const auto unit = [](std::vector<double> x) {
        double sum = 1e-12;
        for (double value : x) sum += value * value;
        for (double& value : x) value /= std::sqrt(sum);
        return x;
    };
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    for (int64_t h = 0; h < flow.heads; ++h) {
        const auto rowsOf = [&](const Dense& x) {
            Rows rows;
            for (int64_t i = 0; i < x.extents[1]; ++i) {
                const double* begin = &x.data[static_cast<size_t>(h * x.extents[1] + i) * D];
                rows.push_back(unit({begin, begin + D}));
            }
            return rows;
        };
        const Rows q = rowsOf(flow.q), k = rowsOf(flow.k);
        Rows centroids;
        const Dense& start = flow.parameters.at("mask.centroids");
        for (size_t c = 0; c < count; ++c)
            centroids.push_back(unit({start.data.begin() + static_cast<std::ptrdiff_t>(c * D),
                                      start.data.begin() + static_cast<std::ptrdiff_t>((c + 1) * D)}));
        for (int round = 0; round < values.integer("rounds"); ++round) {
            Rows sums(count, std::vector<double>(D, 0));
            std::vector<bool> isEmpty(count, true);
            for (const auto& row : k) {
                size_t nearest = 0;
                for (size_t c = 1; c < count; ++c)
                    if (dot(row, centroids[c]) > dot(row, centroids[nearest])) nearest = c;
                for (size_t d = 0; d < D; ++d) sums[nearest][d] += row[d];
                isEmpty[nearest] = false;
            }
            for (size_t c = 0; c < count; ++c)
                if (!isEmpty[c]) centroids[c] = unit(sums[c]);
        }
        const auto members = [&](const Rows& rows, size_t c) {
            std::vector<double> near;
            for (const auto& row : rows) near.push_back(dot(row, centroids[c]));
            std::vector<double> falling = near;
            std::ranges::sort(falling, std::greater{});
            const double least = falling[std::min(static_cast<size_t>(values.integer("members")), rows.size()) - 1];
            std::vector<bool> result;
            for (double value : near) result.push_back(value >= least);
            return result;
        };
        std::vector<std::vector<bool>> queries, keys;
        for (size_t c = 0; c < count; ++c) {
            queries.push_back(members(q, c));
            keys.push_back(members(k, c));
        }
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s) {
                bool isTogether = false;
                for (size_t c = 0; c < count; ++c)
                    isTogether = isTogether || (queries[c][static_cast<size_t>(t)] && keys[c][static_cast<size_t>(s)]);
                if (!isTogether) flow.scores.at(h, t, s) = kMasked;
            }
    }
}

// Adaptive span ------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 3> kSpanParams{
    {{"span", "Longest span", "The longest span that a head can learn, in tokens", Param::Kind::Integer, 1, 8192, 1,
      32},
     {"ramp", "Ramp", "Tokens over which the mask falls from 1 to 0", Param::Kind::Real, 1, 1024, 1, 8},
     {"penalty", "Penalty", "Factor of the mean span (as a share of the longest) that is added to the loss",
      Param::Kind::Real, 0, 1, 0.001, 0.002}}};

/// z = span * clamp(parameter + 1/2, 0, 1): half of the longest span to begin with. @return [H,1], as a share
Tensor spanShare(AttentionFlow& flow) {
    return clamp(affine(flow.parameter("mask.span", {flow.heads, 1}, {InitialValue::Kind::Zero}), 1, 0.5), 0, 1);
}
/// m_z of every distance of key from query. @return [H, T + S - 1]
Tensor spanFactor(AttentionFlow& flow, PartValues values) {
    const Tensor distance = reshape(
        flow.byDistance("mask.distance", 1, [](int64_t d, int64_t) { return static_cast<double>(std::abs(d)); }),
        {1, flow.queries + flow.keys - 1});
    const double span = values.real("span"), ramp = values.real("ramp");
    return clamp(affine(minus(affine(spanShare(flow), span, ramp), distance), 1 / ramp, 0), 0, 1);
}
/// The term that it adds to the scores that stay visible.
Tensor logarithmOf(Tensor factor) { return unary(clamp(factor, 1e-20, 1), Unary::Logarithm); }

void buildAdaptiveSpan(AttentionFlow& flow, PartValues values) {
    const int64_t H = flow.heads, T = flow.queries, count = T + flow.keys - 1;
    const Tensor share = spanShare(flow), factor = spanFactor(flow, values);
    const Tensor byCell = diagonals(broadcast(reshape(factor, {H, 1, count}), {H, T, count}), flow.keys); // [H,T,S]
    flow.show("mask.factor", byCell);
    flow.penalties.push_back(affine(reshape(reduce(share, Reduction::Mean, {0}), {1}), values.real("penalty"), 0));
    flow.addToScores("mask.factor", logarithmOf(byCell));
    hideUnless(flow, byCell);
}
void fuseAdaptiveSpan(AttentionFlow& flow, PartValues values, FusedScores& fused) {
    const Tensor factor = spanFactor(flow, values);
    const Tensor bias = select(factor, logarithmOf(factor), fill(flow.graph, {1, 1}, kMasked));
    // A hidden distance keeps kMasked, whatever else is added to its score.
    fused.learned = fused.learned ? select(factor, plus(fused.learned, bias), bias) : bias;
    fused.reach = static_cast<int64_t>(std::ceil(values.real("span") + values.real("ramp")));
}
void referenceAdaptiveSpan(ReferenceFlow& flow, PartValues values) {
    const Dense& learned = flow.parameters.at("mask.span");
    const double span = values.real("span"), ramp = values.real("ramp");
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s) {
                const double z = span * std::clamp(learned.at(h, 0) + 0.5, 0.0, 1.0);
                const double factor = std::clamp((ramp + z - static_cast<double>(std::abs(t - s))) / ramp, 0.0, 1.0);
                double& score = flow.scores.at(h, t, s);
                score = factor == 0 || score <= kMasked ? kMasked : score + std::log(factor);
            }
}

} // namespace

const Part kRoutingMask{
    .id = "routing",
    .slot = Slot::Mask,
    .title = "Clusters (Routing Transformer)",
    .idea = "A query sees a key where both are among the nearest to the same centroid. Here a few rounds of k-means "
            "on the keys find the centroids of each sequence; the paper keeps them as a running mean over training.",
    .formula = "q_i and k_j are both among the w nearest to one centroid mu_c",
    .source = {"Roy et al.", 2021, "Efficient Content-Based Sparse Attention with Routing Transformers", "section 4.1",
               "arXiv:2003.05997"},
    .params = kRoutingParams,
    .time = "O(T c D + c w^2 D); T^2 here",
    .memory = "O(T^2) here",
    .caution = "As in the paper, the clusters depend on the whole sequence: even under a causal mask, later tokens "
               "decide which "
               "earlier keys are visible.",
    .hooks = {{Stage::Mask, buildRouting, referenceRouting}},
    .isRandom = true,
    .readsLaterRows = true};

const Part kAdaptiveSpanMask{
    .id = "adaptive_span",
    .slot = Slot::Mask,
    .title = "Adaptive span",
    .idea = "Each head learns how far it looks: a soft mask falls from 1 to 0 beyond its span, and a penalty keeps "
            "spans short. In a language model, few heads learn to look far.",
    .formula = "A(i,j) ~ m_z(i - j) e^(s(i,j)), m_z(x) = clamp((R + z - x) / R, 0, 1)",
    .source = {"Sukhbaatar et al.", 2019, "Adaptive Attention Span in Transformers", "section 2.2", "arXiv:1905.07799"},
    .params = kSpanParams,
    .time = "O(T span D)",
    .memory = "O(H) parameters",
    .hooks = {{Stage::Mask, buildAdaptiveSpan, referenceAdaptiveSpan, fuseAdaptiveSpan}}};

} // namespace attn
