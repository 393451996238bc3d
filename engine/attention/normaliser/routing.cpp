#include "engine/attention/local_attention.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/cluster_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attn {
namespace {

using namespace terms;

constexpr std::array<Param, 3> kRoutingParams{
    {{"clusters", "Clusters", "Number of centroids; each picks one token in so many", Param::Kind::Integer, 1, 256, 1,
      8},
     {"window", "Window", "Width of the local heads' window, in tokens", Param::Kind::Integer, 1, 8192, 1, 32},
     {"decay", "Decay", "What a step of training keeps of a centroid", Param::Kind::Real, 0, 1, 0.001, 0.999}}};

/// Half of the heads are local, the others routed; a single head is routed.
struct Routing {
    int64_t local, routed, clusters, members;
    Routing(PartValues values, int64_t heads, int64_t tokens)
        : local(heads / 2), routed(heads - local), clusters(values.integer("clusters")),
          members((tokens + clusters - 1) / clusters) {}
};

/// The mask of the local heads: a query sees `window` keys on each side, or up to itself.
MaskExpression localMask(PartValues values, bool isCausal) {
    return MaskExpression::parse(fmt::format("{}window({})", isCausal ? "causal & " : "", values.integer("window")));
}

/// Layer norm without scale and bias, then length 1: on the sphere the nearest centroid has the largest product.
Tensor onSphere(Tensor x) { return unitRows(minus(x, reduce(x, Reduction::Mean, {-1}))); }

/// The mean of the rows that are nearest to each centroid, over all sequences; the centroid where no row is.
/// @param x [B,Hr,T,D]  @param centroids [Hr,c,D], of length 1  @param stay [Hr,c,D]
Tensor meansOf(AttentionFlow& flow, Tensor x, Tensor centroids, Tensor stay) {
    const int64_t B = x.shape()[0], heads = x.shape()[1], T = x.shape()[2], count = centroids.shape()[1];
    const Tensor names = flow.constant("normaliser.names", {count, 1}, [count] {
        std::vector<float> numbers(static_cast<size_t>(count));
        std::iota(numbers.begin(), numbers.end(), 0.0f);
        return numbers;
    });
    const Tensor nearest = reshape(toReal(argmax(product(x, centroids))), {B, heads, 1, T});
    const Tensor joins = binary(names, nearest, Binary::Equal); // [B,Hr,c,T]
    const auto overSequences = [&](Tensor each, int64_t columns) {
        return reshape(reduce(each, Reduction::Sum, {0}), {heads, count, columns});
    };
    const Tensor sums = overSequences(batchedMatmul(joins, x), x.shape()[3]),
                 members = overSequences(sumOver(joins, -1), 1);
    return select(members, over(sums, binary(members, fill(flow.graph, {1, 1}, 1), Binary::Maximum)), stay);
}

/// mu <- decay mu + (1 - decay) / 2 (mean of its queries + mean of its keys). @param q, k on the sphere
void moveCentroids(AttentionFlow& flow, Tensor q, Tensor k, Tensor mu, Tensor centroids, double decay) {
    const Tensor means = plus(meansOf(flow, q, centroids, mu), meansOf(flow, k, centroids, mu));
    flow.setAverage("normaliser.centroids", plus(affine(mu, decay, 0), affine(means, (1 - decay) / 2, 0)));
}

Tensor headsOf(Tensor x, int64_t begin, int64_t count) { return count == x.shape()[1] ? x : slice(x, 1, begin, count); }

/// What the members of every cluster see, of which the output does without all: for views, and for patterns that a
/// change sets. @param in with members  @return [B,Hr,T,T]
Tensor effectivePattern(AttentionFlow& flow, const ClusterAttentionInputs& in, double scale, bool isCausal) {
    const Shape &q = in.q.shape(), &ids = in.queryIds.shape();
    const int64_t T = q[2], D = q[3], c = ids[2], w = ids[3], M = q[0] * q[1];
    const auto gathered = [&](Tensor x, Tensor members) {
        return reshape(take(reshape(onSphere(x), {M, T, D}), reshape(members, {M, c * w})), {M, c, w, D});
    };
    Tensor scores =
        batchedMatmul(gathered(in.q, in.queryIds), gathered(in.k, in.keyIds), {.transposeB = true, .scale = scale});
    if (isCausal) {
        const Tensor at = toReal(in.queryIds);
        const Tensor isLater = binary(reshape(at, {M, c, w, 1}), reshape(at, {M, c, 1, w}), Binary::Less);
        scores = select(isLater, fill(flow.graph, {1, 1}, kMasked), scores);
    }
    const Tensor weights = permute(softmax(scores), {0, 1, 3, 2}); // [M,c,w keys,w queries]
    const Tensor byKey = put(reshape(weights, {M * c, w, w}), reshape(in.keyIds, {M * c, w}), T);
    const Tensor queries = reshape(in.queryIds, {M, c * w}),
                 count = put(fill(flow.graph, {M, c * w, 1}, 1), queries, T); // [M,T,1]
    const Tensor cells = over(put(reshape(permute(byKey, {0, 2, 1}), {M, c * w, T}), queries, T),
                              binary(count, fill(flow.graph, {1, 1}, 1), Binary::Maximum));
    const Tensor own = flow.byCell("normaliser.own", [](int64_t t, int64_t s) { return t == s ? 1 : 0; });
    return reshape(select(count, cells, own), {q[0], q[1], T, T});
}

void buildRouting(AttentionFlow& flow, PartValues values) {
    const Routing routing(values, flow.heads, flow.keys);
    const int64_t Hr = routing.routed, D = flow.width;
    const bool isCausal = flow.isCausal();
    const double scale = std::sqrt(static_cast<double>(D));
    ClusterAttentionInputs in{.q = headsOf(flow.q, routing.local, Hr),
                              .k = headsOf(flow.k, routing.local, Hr),
                              .v = headsOf(flow.v, routing.local, Hr)};
    const Tensor mu = stopGradient(flow.parameter("normaliser.centroids", {Hr, routing.clusters, D},
                                                  {InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(D))}));
    const Tensor centroids = unitRows(mu);
    const Tensor centred = minus(centroids, reduce(centroids, Reduction::Mean, {-1}));
    moveCentroids(flow, onSphere(stopGradient(in.q)), onSphere(stopGradient(in.k)), mu, centroids,
                  values.real("decay"));
    in.sphere = sphereOf(in.q, in.k);
    // The members of a cluster are the tokens with the largest mu_c . u(x); a mu_c of mean 0 takes the mean of x away.
    // The lengths come first: between the products they would lie in the memory that the second of these takes over.
    const auto inverseLengths = [&](int64_t row) {
        return reshape(slice(in.sphere, 2, row, 1), {flow.batch, Hr, flow.keys});
    };
    const Tensor ofQueries = inverseLengths(1), ofKeys = inverseLengths(3);
    const auto members = [&](Tensor x, Tensor lengths) { // [B,Hr,c,w], by position
        return largestColumns(product(centred, stopGradient(x)), lengths, routing.members);
    };
    in.queryIds = members(in.q, ofQueries);
    // Under a causal mask keys are those of the tokens that the queries are: each then sees itself.
    in.keyIds = isCausal ? in.queryIds : members(in.k, ofKeys);
    flow.show("routing.members", toReal(in.queryIds));
    flow.pattern = effectivePattern(flow, in, scale, isCausal);
    if (routing.local > 0) {
        const Tensor near =
            flow.byCell("normaliser.near", [isCausal, W = values.integer("window")](int64_t t, int64_t s) {
                return std::abs(t - s) < W && (!isCausal || s <= t) ? 1 : 0;
            });
        const Tensor localScores =
            affine(product(headsOf(flow.q, 0, routing.local), headsOf(flow.k, 0, routing.local)), flow.scoreScale(), 0);
        flow.pattern = concatenate(
            std::array{softmax(select(near, localScores, fill(flow.graph, {1, 1}, kMasked))), flow.pattern}, 1);
    }
    if (!flow.mayFuse) return; // z is pattern . v
    flow.z = clusterAttention(in, scale, isCausal);
    if (routing.local > 0)
        flow.z =
            concatenate(std::array{localAttention(flow, localMask(values, isCausal), headsOf(flow.q, 0, routing.local),
                                                  headsOf(flow.k, 0, routing.local), headsOf(flow.v, 0, routing.local)),
                                   flow.z},
                        1);
}

using Rows = std::vector<std::vector<double>>;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
void scaleToOne(std::vector<double>& x) {
    const double length = std::sqrt(dot(x, x) + 1e-12);
    for (double& value : x) value /= length;
}
Rows rowsOf(const Dense& x, int64_t index) {
    const auto rows = x.extents[1], width = x.extents[2];
    Rows result;
    for (int64_t i = 0; i < rows; ++i) {
        const auto begin = x.data.begin() + (index * rows + i) * width;
        result.emplace_back(begin, begin + width);
    }
    return result;
}
Rows onSphere(Rows rows) {
    for (auto& row : rows) {
        const double mean = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
        for (double& value : row) value -= mean;
        scaleToOne(row);
    }
    return rows;
}

/// One softmax over the keys that `sees` lists, added to a row of the pattern with a share.
template <class Score>
void addSoftmax(ReferenceFlow& flow, int64_t h, size_t t, const std::vector<size_t>& seen, double share,
                const Score& score) {
    double sum = 0;
    for (const size_t s : seen) sum += std::exp(score(t, s));
    for (const size_t s : seen) flow.pattern.at(h, t, s) += share * std::exp(score(t, s)) / sum;
}

void referenceRouting(ReferenceFlow& flow, PartValues values) {
    const Routing routing(values, flow.heads, flow.keys);
    const auto T = static_cast<size_t>(flow.keys);
    const int64_t window = values.integer("window");
    const bool isCausal = flow.isCausal();
    flow.pattern = Dense({flow.heads, flow.queries, flow.keys});
    for (int64_t h = 0; h < flow.heads; ++h) {
        if (h < routing.local) {
            const Rows q = rowsOf(flow.q, h), k = rowsOf(flow.k, h);
            for (size_t t = 0; t < T; ++t) {
                std::vector<size_t> seen;
                for (size_t s = 0; s < (isCausal ? t + 1 : T); ++s)
                    if (std::abs(static_cast<int64_t>(t) - static_cast<int64_t>(s)) < window) seen.push_back(s);
                addSoftmax(flow, h, t, seen, 1,
                           [&](size_t i, size_t j) { return dot(q[i], k[j]) * flow.scoreScale(); });
            }
            continue;
        }
        const Rows q = onSphere(rowsOf(flow.q, h)), k = onSphere(rowsOf(flow.k, h));
        Rows centroids = rowsOf(flow.parameters.at("normaliser.centroids"), h - routing.local);
        for (auto& centroid : centroids) scaleToOne(centroid);
        std::vector<std::vector<size_t>> met(T); // clusters that picked each query
        std::vector<std::vector<size_t>> keysOf;
        for (size_t c = 0; c < centroids.size(); ++c) {
            const auto nearest = [&](const Rows& rows) {
                std::vector<size_t> order(T);
                std::iota(order.begin(), order.end(), size_t{0});
                std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return dot(rows[i], centroids[c]); });
                order.resize(static_cast<size_t>(routing.members));
                return order;
            };
            for (const size_t t : nearest(q)) met[t].push_back(c);
            keysOf.push_back(nearest(isCausal ? q : k));
        }
        for (size_t t = 0; t < T; ++t) {
            if (met[t].empty()) flow.pattern.at(h, t, t) = 1;
            for (const size_t c : met[t]) {
                std::vector<size_t> seen;
                for (const size_t s : keysOf[c])
                    if (!isCausal || s <= t) seen.push_back(s);
                addSoftmax(flow, h, t, seen, 1 / static_cast<double>(met[t].size()), [&](size_t i, size_t j) {
                    return dot(q[i], k[j]) * std::sqrt(static_cast<double>(flow.width));
                });
            }
        }
    }
}

/// c w^2 in a routed head, half of them under a causal mask; local heads have those of their window.
double routingPairs(PartValues values, int64_t tokens, bool isCausal) {
    const double T = static_cast<double>(tokens);
    return std::min(T * std::ceil(T / values.real("clusters")), T * T) * (isCausal ? 0.5 : 1.0);
}

} // namespace

const Part kRoutingNormaliser{
    .id = "routing",
    .slot = Slot::Normaliser,
    .title = "Clusters (Routing Transformer)",
    .idea = "Centroids pick the tokens nearest to them, and a query sees the keys that one of its centroids has "
            "picked. Half of the heads are routed in this way, and the others see a window.",
    .formula = "z_i = mean over the c that picked i of softmax over j picked by c of sqrt(D) u(q_i) . u(k_j), u(x) = "
               "(x - mean) / |x - mean|; mu_c <- lambda mu_c + (1 - lambda) / 2 (mean of its u(q) + mean of its u(k))",
    .source = {"Roy et al.", 2021, "Efficient Content-Based Sparse Attention with Routing Transformers",
               "section 4.1 and algorithm 1", "arXiv:2003.05997"},
    .params = kRoutingParams,
    .time = "O(T c D + T^2 / c D)",
    .memory = "O(T c)",
    .caution =
        "As in the paper, a centroid picks the nearest tokens of the whole sequence, even under a causal mask. A new "
        "token can push an earlier one out of a cluster and so change the rows of other earlier tokens. No cache of "
        "keys and values stays right: the whole text runs again for every token that is written. Training moves the "
        "centroids, and they stay where they are afterwards. A token that no centroid picks sees itself.",
    .hooks = {{Stage::Normalise, buildRouting, referenceRouting}},
    .mix = {.masks = MaskSupport::FullOrCausal, .usesScores = false, .pairs = routingPairs},
    .needsEqualLengths = true,
    .readsLaterRows = true};

} // namespace attn
