#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace attn {
namespace {

using namespace terms;

template <class Score> void forCells(ReferenceFlow& flow, Score&& score) {
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s) flow.scores.at(h, t, s) = score(h, t, s);
}

double dotOf(const ReferenceFlow& flow, int64_t h, int64_t t, int64_t s) {
    const double* q = flow.q.data.data() + (h * flow.queries + t) * flow.width;
    const double* k = flow.k.data.data() + (h * flow.keys + s) * flow.width;
    double sum = 0;
    for (int64_t d = 0; d < flow.width; ++d) sum += q[d] * k[d];
    return sum;
}

// Dot and scaled dot -------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kDotParams{
    {{"scale", "Scale", "Multiplies the products: large values make sharp patterns", Param::Kind::Real, 0.001, 10,
      0.001, 1}}};

void buildDot(AttentionFlow& flow, PartValues) {
    const Tensor scores =
        flow.cachedProducts ? flow.cachedProducts() : product(flow.q, flow.k); // [B,H,T,D] . [B,H,S,D]^T
    const double factor = flow.scoreScale();
    flow.scores = factor == 1 ? scores : affine(scores, factor, 0);
}
void referenceDot(ReferenceFlow& flow, PartValues) {
    const double scale = flow.scoreScale();
    forCells(flow, [&](int64_t h, int64_t t, int64_t s) { return scale * dotOf(flow, h, t, s); });
}

void fuseDot(AttentionFlow& flow, PartValues, FusedScores& fused) { fused.scale = flow.scoreScale(); }

// Additive -----------------------------------------------------------------------------------------------------------

void buildAdditive(AttentionFlow& flow, PartValues) {
    const int64_t B = flow.batch, H = flow.heads, T = flow.queries, S = flow.keys, D = flow.width;
    const InitialValue initial{InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(D))};
    const Tensor w = flow.parameter("score.W", {H, D, D}, initial), u = flow.parameter("score.U", {H, D, D}, initial);
    const Tensor v = flow.parameter("score.v", {H, D}, {InitialValue::Kind::Normal, 1});
    const Tensor query = reshape(product(flow.q, w), {B * H, T, 1, D}),
                 key = reshape(product(flow.k, u), {B * H, 1, S, D});
    Tensor weights = reshape(broadcast(reshape(v, {1, H, D}), {B, H, D}), {B * H, 1, 1, D});
    const Tensor terms = times(unary(plus(query, key), Unary::Tanh), weights); // [BH,T,S,D]
    flow.scores = reshape(sumOver(terms, -1), {B, H, T, S});
}
void referenceAdditive(ReferenceFlow& flow, PartValues) {
    const Dense &w = flow.parameters.at("score.W"), &u = flow.parameters.at("score.U"),
                &v = flow.parameters.at("score.v");
    forCells(flow, [&](int64_t h, int64_t t, int64_t s) {
        double sum = 0;
        for (int64_t d = 0; d < flow.width; ++d) {
            double inner = 0;
            for (int64_t e = 0; e < flow.width; ++e)
                inner += w.at(h, d, e) * flow.q.at(h, t, e) + u.at(h, d, e) * flow.k.at(h, s, e);
            sum += v.at(h, d) * std::tanh(inner);
        }
        return sum;
    });
}

// Bilinear -----------------------------------------------------------------------------------------------------------

void buildBilinear(AttentionFlow& flow, PartValues) {
    const int64_t D = flow.width;
    const Tensor w =
        flow.parameter("score.W", {flow.heads, D, D}, {InitialValue::Kind::Normal, 1 / static_cast<double>(D)});
    flow.scores = product(batchedMatmul(flow.q, w), flow.k); // q W k^T
}
void referenceBilinear(ReferenceFlow& flow, PartValues) {
    const Dense& w = flow.parameters.at("score.W");
    forCells(flow, [&](int64_t h, int64_t t, int64_t s) {
        double sum = 0;
        for (int64_t d = 0; d < flow.width; ++d)
            for (int64_t e = 0; e < flow.width; ++e) sum += flow.q.at(h, t, d) * w.at(h, d, e) * flow.k.at(h, s, e);
        return sum;
    });
}

// Cosine -------------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kCosineParams{
    {{"temperature", "Temperature", "Divides the cosine: small values make sharp patterns", Param::Kind::Real, 0.01, 10,
      0.01, 0.1}}};

void buildCosine(AttentionFlow& flow, PartValues values) {
    flow.scores = affine(product(unitRows(flow.q), unitRows(flow.k)), 1 / values.real("temperature"), 0);
}
void fuseCosine(AttentionFlow&, PartValues values, FusedScores& fused) {
    fused.q = unitRows(fused.q);
    fused.k = unitRows(fused.k);
    fused.scale = 1 / values.real("temperature");
}
double cosineOf(const ReferenceFlow& flow, int64_t h, int64_t t, int64_t s) {
    const auto norm = [&](const Dense& x, int64_t i) {
        double sum = 1e-12;
        for (int64_t d = 0; d < flow.width; ++d) sum += x.at(h, i, d) * x.at(h, i, d);
        return std::sqrt(sum);
    };
    return dotOf(flow, h, t, s) / (norm(flow.q, t) * norm(flow.k, s));
}
void referenceCosine(ReferenceFlow& flow, PartValues values) {
    const double temperature = values.real("temperature");
    forCells(flow, [&](int64_t h, int64_t t, int64_t s) { return cosineOf(flow, h, t, s) / temperature; });
}

// Cosine with a learned scale -----------------------------------------------------------------------------------------

constexpr const char* kScale = "score.log_scale";
const double kFirstScale = std::log(10.0), kMostScale = std::log(100.0);

/// The stored number is the logarithm of the scale minus that of 10, so that it begins at zero. @return [H,1,1]
Tensor learnedScale(AttentionFlow& flow) {
    const Tensor stored = flow.parameter(kScale, {flow.heads, 1, 1}, {InitialValue::Kind::Zero});
    return unary(binary(affine(stored, 1, kFirstScale), fill(flow.graph, {1, 1, 1}, kMostScale), Binary::Minimum),
                 Unary::Exponential);
}
void buildLearnedCosine(AttentionFlow& flow, PartValues) {
    flow.scores = times(product(unitRows(flow.q), unitRows(flow.k)), learnedScale(flow));
}
void fuseLearnedCosine(AttentionFlow& flow, PartValues, FusedScores& fused) {
    fused.q = times(unitRows(fused.q), learnedScale(flow));
    fused.k = unitRows(fused.k);
    fused.scale = 1;
}
void referenceLearnedCosine(ReferenceFlow& flow, PartValues) {
    const Dense& stored = flow.parameters.at(kScale);
    forCells(flow, [&](int64_t h, int64_t t, int64_t s) {
        return std::exp(std::min(stored.at(h, 0, 0) + kFirstScale, kMostScale)) * cosineOf(flow, h, t, s);
    });
}

// Random Synthesizer -------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kSynthesizerParams{
    {{"length", "Length", "Rows and columns of the table; later positions share the last one", Param::Kind::Integer, 1,
      4096, 1, 128}}};

void buildRandomSynthesizer(AttentionFlow& flow, PartValues values) {
    const int64_t H = flow.heads, T = flow.queries, S = flow.keys, L = values.integer("length");
    const auto place = [L](int64_t i, int64_t) { return static_cast<double>(std::min(i, L - 1)); };
    std::vector<float> keys;
    for (int64_t s = 0; s < S; ++s) keys.push_back(static_cast<float>(place(s, 0)));
    const auto byHead = [H](Tensor ids) {
        return broadcast(reshape(ids, {1, ids.shape().elements()}), {H, ids.shape().elements()});
    };
    const Tensor rows = byHead(indices(flow.byPosition("score.rows", T, 1, place))),
                 columns = byHead(indices(flow.constant("score.columns#" + std::to_string(S), {S}, std::move(keys))));
    const Tensor table = flow.parameter("score.R", {H, L, L}, {InitialValue::Kind::Normal, 1});
    const Tensor turned = permute(take(table, rows), {0, 2, 1}); // [H,L,T]
    flow.scores = broadcast(reshape(permute(take(turned, columns), {0, 2, 1}), {1, H, T, S}), {flow.batch, H, T, S});
}
void referenceRandomSynthesizer(ReferenceFlow& flow, PartValues values) {
    const Dense& table = flow.parameters.at("score.R");
    const int64_t last = values.integer("length") - 1;
    forCells(flow, [&](int64_t h, int64_t t, int64_t s) { return table.at(h, std::min(t, last), std::min(s, last)); });
}

} // namespace

const Part kScaledDotScore{
    .id = "scaled_dot",
    .slot = Slot::Score,
    .title = "Scaled dot product",
    .idea = "Measures how well a query and a key agree, feature by feature. The division keeps the variance of the "
            "sum near one for any head width, so the softmax does not saturate.",
    .formula = "s(i,j) = q_i . k_j / sqrt(D)",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2.1", "arXiv:1706.03762"},
    .time = "O(T S D)",
    .memory = "O(T S), or O(T) fused",
    .hooks = {{Stage::Scores, buildDot, referenceDot, fuseDot}},
    .score = {.dotScale = [](PartValues, int64_t headWidth) { return 1 / std::sqrt(static_cast<double>(headWidth)); }}};

const Part kDotScore{
    .id = "dot",
    .slot = Slot::Score,
    .title = "Dot product",
    .idea = "Measures how well a query and a key agree, without a scale. Wide heads make scores large and the softmax "
            "sharp, unless the projections learn to be small.",
    .formula = "s(i,j) = a q_i . k_j, with a = 1 unless another scale is chosen",
    .source = {"Luong et al.", 2015, "Effective Approaches to Attention-based Neural Machine Translation",
               "section 3.1 (dot)", "arXiv:1508.04025"},
    .params = kDotParams,
    .time = "O(T S D)",
    .memory = "O(T S), or O(T) fused",
    .hooks = {{Stage::Scores, buildDot, referenceDot, fuseDot}},
    .score = {.dotScale = [](PartValues values, int64_t) { return values.real("scale"); }}};

const Part kAdditiveScore{
    .id = "additive",
    .slot = Slot::Score,
    .title = "Additive",
    .idea = "A small network with one hidden layer scores a query and a key together. The first attention in machine "
            "translation worked this way; Luong et al. 2015 call it concat.",
    .formula = "s(i,j) = v . tanh(W q_i + U k_j)",
    .source = {"Bahdanau et al.", 2015, "Neural Machine Translation by Jointly Learning to Align and Translate",
               "section 3.1 and appendix A.1.2", "arXiv:1409.0473"},
    .time = "O(T S D)",
    .memory = "O(T S D)",
    .hooks = {{Stage::Scores, buildAdditive, referenceAdditive}}};

const Part kBilinearScore{
    .id = "bilinear",
    .slot = Slot::Score,
    .title = "Bilinear (general)",
    .idea = "A learned matrix decides which feature of a query is compared with which feature of a key. Where the "
            "projections of queries and keys are learned already, it adds nothing that they could not do.",
    .formula = "s(i,j) = q_i^T W k_j",
    .source = {"Luong et al.", 2015, "Effective Approaches to Attention-based Neural Machine Translation",
               "section 3.1 (general)", "arXiv:1508.04025"},
    .time = "O(T S D)",
    .memory = "O(T S) and O(D^2) parameters",
    .hooks = {{Stage::Scores, buildBilinear, referenceBilinear}}};

const Part kCosineScore{
    .id = "cosine",
    .slot = Slot::Score,
    .title = "Cosine with temperature",
    .idea = "Only the directions of query and key count, so no token can win by having a long vector. The temperature "
            "sets how sharp the pattern is.",
    .formula = "s(i,j) = cos(q_i, k_j) / tau",
    .source = {"Liu et al.", 2022, "Swin Transformer V2: Scaling Up Capacity and Resolution", "section 3.2",
               "arXiv:2111.09883"},
    .params = kCosineParams,
    .time = "O(T S D)",
    .memory = "O(T S)",
    .hooks = {{Stage::Scores, buildCosine, referenceCosine, fuseCosine}}};

const Part kLearnedCosineScore{
    .id = "learned_cosine",
    .slot = Slot::Score,
    .title = "Cosine with a learned scale",
    .idea = "Only the directions of query and key count, and each head learns how sharp its pattern is. The scale "
            "begins at "
            "10 and stays below 100.",
    .formula = "s(i,j) = e^min(a_h, log 100) cos(q_i, k_j)",
    .source = {"Liu et al.", 2022, "Swin Transformer V2: Scaling Up Capacity and Resolution", "section 3.2",
               "arXiv:2111.09883"},
    .time = "O(T S D)",
    .memory = "O(T S), and O(H) parameters",
    .hooks = {{Stage::Scores, buildLearnedCosine, referenceLearnedCosine, fuseLearnedCosine}}};

const Part kRandomSynthesizerScore{
    .id = "random_synthesizer",
    .slot = Slot::Score,
    .title = "Static layer (Random Synthesizer)",
    .idea = "The scores are learned numbers for each pair of positions and do not depend on the tokens. So each head "
            "is a static linear layer over the tokens: it has the same weights for every input, where attention "
            "computes new ones. The table begins with random numbers.",
    .formula = "s(i,j) = R[i,j]",
    .source = {"Tay et al.", 2021, "Synthesizer: Rethinking Self-Attention for Transformer Models",
               "Random Synthesizer", "arXiv:2005.00743"},
    .params = kSynthesizerParams,
    .time = "O(T S D)",
    .memory = "O(T S), and O(H L^2) parameters for L positions",
    .hooks = {{Stage::Scores, buildRandomSynthesizer, referenceRandomSynthesizer}}};

} // namespace attn
