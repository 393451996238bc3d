#include "engine/attention/parts.h"
#include "engine/attention/position/distance_bias.h"

#include <algorithm>
#include <cmath>

// Positions that add to the score, or multiply it by, a number that depends only on the head and the distance.

namespace attn {
namespace {

using namespace terms;

// T5 -----------------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 2> kT5Params{
    {{"buckets", "Buckets", "Rows of the learned table", Param::Kind::Integer, 4, 256, 2, 32},
     {"reach", "Reach", "Distances from this one on share the last bucket", Param::Kind::Integer, 8, 65536, 1, 128}}};

/// Half of the buckets hold one distance each, the rest grow logarithmically up to `reach`; when both directions are
/// visible each has half of all buckets.
int64_t t5Bucket(int64_t distance, bool looksAhead, int64_t buckets, int64_t reach) {
    int64_t first = 0, n = distance; // of query minus key
    if (looksAhead) {
        buckets /= 2;
        if (n < 0) first = buckets;
        n = std::abs(n);
    }
    n = std::max<int64_t>(n, 0);
    const int64_t exact = buckets / 2;
    if (n < exact) return first + n;
    const double ratio = std::log(static_cast<double>(n) / static_cast<double>(exact)) /
                         std::log(static_cast<double>(reach) / static_cast<double>(exact));
    return first + std::min(exact + static_cast<int64_t>(ratio * static_cast<double>(buckets - exact)), buckets - 1);
}

Tensor t5Bias(AttentionFlow& flow, PartValues values) {
    const int64_t buckets = values.integer("buckets"), reach = values.integer("reach");
    return learnedByDistance(flow, "position.buckets", buckets, [=, looksAhead = flow.looksAhead()](int64_t d) {
        return t5Bucket(-d, looksAhead, buckets, reach);
    });
}
void buildT5(AttentionFlow& flow, PartValues values) { addByDistance(flow, t5Bias(flow, values)); }
void fuseT5(AttentionFlow& flow, PartValues values, FusedScores& fused) { fused.learned = t5Bias(flow, values); }
void referenceT5(ReferenceFlow& flow, PartValues values) {
    const int64_t buckets = values.integer("buckets"), reach = values.integer("reach");
    const Dense& table = flow.parameters.at("position.buckets");
    addReference(flow, [&, looksAhead = flow.looksAhead()](int64_t h, int64_t distance) {
        return table.at(t5Bucket(distance, looksAhead, buckets, reach), h);
    });
}

// Toeplitz -----------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kToeplitzParams{
    {{"reach", "Reach", "Larger distances share the number of this one", Param::Kind::Integer, 1, 4096, 1, 64}}};

Tensor toeplitzBias(AttentionFlow& flow, PartValues values) {
    const int64_t reach = values.integer("reach");
    return learnedByDistance(flow, "position.diagonals", 2 * reach + 1,
                             [reach](int64_t d) { return std::clamp(d, -reach, reach) + reach; });
}
void buildToeplitz(AttentionFlow& flow, PartValues values) { addByDistance(flow, toeplitzBias(flow, values)); }
void fuseToeplitz(AttentionFlow& flow, PartValues values, FusedScores& fused) {
    fused.learned = toeplitzBias(flow, values);
}
void referenceToeplitz(ReferenceFlow& flow, PartValues values) {
    const int64_t reach = values.integer("reach");
    const Dense& table = flow.parameters.at("position.diagonals");
    addReference(
        flow, [&](int64_t h, int64_t distance) { return table.at(std::clamp(-distance, -reach, reach) + reach, h); });
}

// DA-Transformer -----------------------------------------------------------------------------------------------------

constexpr double kInitialAlpha = 0.1;

void buildDistanceAware(AttentionFlow& flow, PartValues) {
    const int64_t H = flow.heads, T = flow.queries, count = T + flow.keys - 1;
    const Tensor alpha = flow.parameter("position.alpha", {H, 1}, {InitialValue::Kind::Normal, kInitialAlpha});
    const Tensor beta = flow.parameter("position.beta", {H, 1}, {InitialValue::Kind::Normal, 1});
    const Tensor distance = reshape(
        flow.byDistance("position.distance", 1, [](int64_t d, int64_t) { return static_cast<double>(std::abs(d)); }),
        {1, count});
    const Tensor top = affine(unary(beta, Unary::Exponential), 1, 1);
    const Tensor bottom = affine(unary(minus(beta, times(alpha, distance)), Unary::Exponential), 1, 1);
    const Tensor weights = over(top, bottom); // [H, T + S - 1]
    const Tensor byCell = diagonals(broadcast(reshape(weights, {H, 1, count}), {H, T, count}), flow.keys);
    flow.show("position.bias", byCell);
    flow.scores = times(unary(flow.scores, Unary::Relu), byCell);
}
void referenceDistanceAware(ReferenceFlow& flow, PartValues) {
    const Dense &alpha = flow.parameters.at("position.alpha"), &beta = flow.parameters.at("position.beta");
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s) {
                const double b = beta.at(h, 0), a = alpha.at(h, 0);
                double& score = flow.scores.at(h, t, s);
                score = std::max(score, 0.0) * (1 + std::exp(b)) /
                        (1 + std::exp(b - a * static_cast<double>(std::abs(t - s))));
            }
}

} // namespace

const Part kT5Position{
    .id = "t5",
    .slot = Slot::Position,
    .title = "T5 buckets",
    .idea = "Adds a learned number for each head and bucket of distances: small distances have a bucket each, and "
            "large ones share buckets that widen logarithmically. T5 itself also omits the division by sqrt(D), as "
            "score=dot does.",
    .formula = "s(i,j) = q_i.k_j + b_h[bucket(j - i)]",
    .source = {"Raffel et al.", 2020,
               "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", "section 2.1",
               "arXiv:1910.10683"},
    .params = kT5Params,
    .time = "O(T S)",
    .memory = "O(buckets H) parameters",
    .hooks = {{Stage::Bias, buildT5, referenceT5, fuseT5}},
    .position = {.isRelative = true},
    .actsOnScores = true};

const Part kToeplitzPosition{
    .id = "toeplitz",
    .slot = Slot::Position,
    .title = "Free bias by distance",
    .idea = "Adds a learned number for each head and distance: a Toeplitz matrix with one free number for each "
            "diagonal. T5's buckets are the same with some diagonals tied together.",
    .formula = "s(i,j) = q_i.k_j / sqrt(D) + b_h[clip(j - i)]",
    .source = {"Liu et al.", 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows",
               "section 3.2, equation 4, in one dimension", "arXiv:2103.14030"},
    .params = kToeplitzParams,
    .time = "O(T S)",
    .memory = "O(reach H) parameters",
    .hooks = {{Stage::Bias, buildToeplitz, referenceToeplitz, fuseToeplitz}},
    .position = {.isRelative = true},
    .actsOnScores = true};

const Part kDistanceAwarePosition{
    .id = "distance_aware",
    .slot = Slot::Position,
    .title = "Distance weighting, DA-Transformer",
    .idea = "Multiplies the score, after ReLU, by a learned sigmoid of the distance. Each head learns whether it "
            "prefers near or far tokens.",
    .formula = "s(i,j) = ReLU(q_i.k_j) (1 + e^beta) / (1 + e^(beta - alpha |i - j|)) / sqrt(D)",
    .source = {"Wu et al.", 2021, "DA-Transformer: Distance-aware Transformer", "section 3", "arXiv:2010.06925"},
    .time = "O(T S)",
    .memory = "O(H) parameters",
    .hooks = {{Stage::Bias, buildDistanceAware, referenceDistanceAware}},
    .position = {.isRelative = true, .multipliesScores = true},
    .actsOnScores = true};

} // namespace attn
