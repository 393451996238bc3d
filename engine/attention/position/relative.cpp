#include "engine/attention/parts.h"
#include "engine/attention/position/sinusoid.h"
#include "engine/attention/terms.h"

#include <algorithm>

// Positions whose terms of the score depend on the query's content and on the distance of the key.

namespace attn {
namespace {

using namespace terms;

/// Rows of a table for every distance from -(T - 1) to S - 1. @return [T + S - 1, columns of the table]
Tensor rowsByDistance(AttentionFlow& flow, Tensor table, const std::string& name,
                      const std::function<int64_t(int64_t)>& row) {
    return take(table, indices(flow.byDistance(name + ".rows", 1, [row](int64_t d, int64_t) { return row(d); })));
}

// Shaw ---------------------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kShawParams{
    {{"clip", "Clip", "Larger distances share the row of this one", Param::Kind::Integer, 1, 1024, 1, 16}}};

constexpr const char* kShawValues = "position.values";

int64_t clipped(int64_t distance, int64_t clip) { return std::clamp(distance, -clip, clip) + clip; }

void buildShawKeys(AttentionFlow& flow, PartValues values) {
    const int64_t clip = values.integer("clip");
    const Tensor table = flow.parameter("position.keys", {2 * clip + 1, flow.width}, {InitialValue::Kind::Normal});
    const Tensor rows = rowsByDistance(flow, table, "position.keys", [clip](int64_t d) { return clipped(d, clip); });
    const Tensor term = affine(diagonals(product(flow.q, rows), flow.keys), flow.scoreScale(), 0); // [B,H,T,S]
    flow.show("shaw.keys", term);
    flow.addToScores("shaw.keys", term);
}
void buildShawValues(AttentionFlow& flow, PartValues values) {
    const int64_t clip = values.integer("clip");
    const Tensor table = flow.parameter(kShawValues, {2 * clip + 1, flow.width}, {InitialValue::Kind::Normal});
    const Tensor rows = rowsByDistance(flow, table, kShawValues, [clip](int64_t d) { return clipped(d, clip); });
    flow.z = plus(flow.z, batchedMatmul(undiagonals(flow.pattern), rows)); // [B,H,T,T+S-1] . [T+S-1,D]
}
void referenceShawKeys(ReferenceFlow& flow, PartValues values) {
    const int64_t clip = values.integer("clip");
    const Dense& table = flow.parameters.at("position.keys");
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s)
                for (int64_t d = 0; d < flow.width; ++d)
                    flow.scores.at(h, t, s) +=
                        flow.scoreScale() * flow.q.at(h, t, d) * table.at(clipped(s - t, clip), d);
}
void referenceShawValues(ReferenceFlow& flow, PartValues values) {
    const int64_t clip = values.integer("clip");
    const Dense& table = flow.parameters.at(kShawValues);
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s)
                for (int64_t d = 0; d < flow.width; ++d)
                    flow.z.at(h, t, d) += flow.pattern.at(h, t, s) * table.at(clipped(s - t, clip), d);
}

// Transformer-XL -----------------------------------------------------------------------------------------------------

constexpr std::array<Param, 1> kTransformerXlParams{
    {{"features", "Features of a distance",
      "0: as many as a head has, sines and cosines in turn. Else so many, the sines "
      "first, as in XLNet, which has as many as the model is wide",
      Param::Kind::Integer, 0, 4096, 1, 0}}};

/// Feature d of r for a distance i - j.
double distanceFeature(int64_t distance, int64_t d, int64_t width, int64_t features) {
    if (features == 0) return sinusoid(distance, d, width, 10000);
    const int64_t half = features / 2; // the pair's sine and cosine stand beside each other in sinusoid()
    return sinusoid(distance, d < half ? 2 * d : 2 * (d - half) + 1, features, 10000);
}

/// r of every distance i - j, in the order of the score's columns: j - i from -(T - 1) to S - 1.
void buildTransformerXl(AttentionFlow& flow, PartValues values) {
    const int64_t D = flow.width, H = flow.heads, count = flow.queries + flow.keys - 1,
                  features = values.integer("features"), F = features == 0 ? D : features;
    const Tensor r = flow.byDistance("position.sinusoid", F, [D, features](int64_t distance, int64_t d) {
        return distanceFeature(-distance, d, D, features);
    });
    const Tensor w = flow.parameter("position.W_R", {H, D, F}, {InitialValue::Kind::Normal, 0.2});
    const Tensor u = flow.parameter("position.u", {H, 1, D}, {InitialValue::Kind::Normal, 0.2});
    const Tensor v = flow.parameter("position.v", {H, 1, D}, {InitialValue::Kind::Normal, 0.2});
    const Tensor rows = product(reshape(r, {1, count, F}), w); // [1,count,F] . [H,D,F]^T -> [H,count,D]
    const auto scaled = [&](Tensor x) { return affine(x, flow.scoreScale(), 0); };
    const Tensor contentPosition = scaled(diagonals(product(flow.q, rows), flow.keys)); // [B,H,T,S]
    const Tensor globalContent = scaled(product(u, flow.k));                            // [B,H,1,S]
    const Tensor globalPosition =
        scaled(diagonals(broadcast(product(v, rows), {H, flow.queries, count}), flow.keys)); // [H,T,S]
    flow.show("xl.content", flow.scores);
    flow.show("xl.content_position", contentPosition);
    flow.show("xl.global_content", globalContent);
    flow.show("xl.global_position", globalPosition);
    flow.addToScores("xl.content_position", contentPosition);
    flow.addToScores("xl.global_content", globalContent);
    flow.addToScores("xl.global_position", globalPosition);
}
void referenceTransformerXl(ReferenceFlow& flow, PartValues values) {
    const int64_t features = values.integer("features"), F = features == 0 ? flow.width : features;
    const Dense &w = flow.parameters.at("position.W_R"), &u = flow.parameters.at("position.u"),
                &v = flow.parameters.at("position.v");
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s) {
                double sum = 0;
                for (int64_t d = 0; d < flow.width; ++d) {
                    double r = 0; // (W_R r_{i-j})_d
                    for (int64_t e = 0; e < F; ++e)
                        r += w.at(h, d, e) * distanceFeature(t - s, e, flow.width, features);
                    sum += flow.q.at(h, t, d) * r + u.at(h, 0, d) * flow.k.at(h, s, d) + v.at(h, 0, d) * r;
                }
                flow.scores.at(h, t, s) += flow.scoreScale() * sum;
            }
}

} // namespace

const Part kShawPosition{
    .id = "shaw",
    .slot = Slot::Position,
    .title = "Relative, Shaw",
    .idea = "Every distance up to a limit has a learned row that is added to the key when scores are computed, and "
            "another that is added to the value when values are mixed. All positions share these rows.",
    .formula = "s(i,j) = q_i . (k_j + aK[clip(j-i)]) / sqrt(D); z_i = sum_j A(i,j) (v_j + aV[clip(j-i)])",
    .source = {"Shaw et al.", 2018, "Self-Attention with Relative Position Representations", "section 3.1 and 3.2",
               "arXiv:1803.02155"},
    .params = kShawParams,
    .time = "O(T S D)",
    .memory = "O(T S) and O(clip D) parameters",
    .hooks = {{Stage::Bias, buildShawKeys, referenceShawKeys}, {Stage::Output, buildShawValues, referenceShawValues}},
    .position = {.isRelative = true, .addedToValues = kShawValues},
    .actsOnScores = true};

const Part kTransformerXlPosition{
    .id = "transformer_xl",
    .slot = Slot::Position,
    .title = "Relative, Transformer-XL",
    .idea = "The score is a sum of four terms: content with content, content with distance, and two biases that are "
            "the same for every query, one on content and one on distance. Distances are sinusoids, so distances "
            "longer than in training work. The paper's sinusoids (section 3.3) are as wide as the model; here they "
            "are as wide as a head unless their number is set, and each head has its own W_R.",
    .formula = "s(i,j) = (q_i.k_j + q_i.W_R r_{i-j} + u.k_j + v.W_R r_{i-j}) / sqrt(D)",
    .source = {"Dai et al.", 2019, "Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context",
               "section 3.3", "arXiv:1901.02860"},
    .params = kTransformerXlParams,
    .time = "O(T S D)",
    .memory = "O(T S)",
    .hooks = {{Stage::Bias, buildTransformerXl, referenceTransformerXl}},
    .position = {.isRelative = true},
    .actsOnScores = true};

} // namespace attn
