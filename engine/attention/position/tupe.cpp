#include "engine/attention/parts.h"
#include "engine/attention/position/distance_bias.h"
#include "engine/attention/terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

// Positions with projections of their own, whose products are added to those of the content.

namespace attn {
namespace {

using namespace terms;

constexpr const char *kTable = "position.table", *kQueryWeights = "position.U_Q", *kKeyWeights = "position.U_K",
                     *kFirstQuery = "position.theta_1", *kFirstKey = "position.theta_2",
                     *kDiagonals = "position.diagonals";

constexpr std::array kParams{
    Param{"length", "Length", "Rows of the table; later positions share the last one", Param::Kind::Integer, 1, 65536,
          1, 1024},
    Param{"reach", "Reach",
          "0: TUPE-A, with absolute positions alone. Else TUPE-R, which also adds a learned number for "
          "each distance up to this one",
          Param::Kind::Integer, 0, 4096, 1, 0},
    Param{"cls", "Free first token", "The first token, such as [CLS], has a number of its own in place of its position",
          Param::Kind::Toggle, 0, 1, 1, 1}};

double scaleOf(int64_t headWidth) { return 1 / std::sqrt(2 * static_cast<double>(headWidth)); }
/// The factor that leaves q.k / sqrt(2 D) of the scores.
constexpr double kShareOfContent = 1 / std::numbers::sqrt2;

void build(AttentionFlow& flow, PartValues values) {
    const int64_t H = flow.heads, D = flow.width, C = H * D, S = flow.keys;
    const int64_t length = values.integer("length"), reach = values.integer("reach");
    const Tensor table = flow.stackParameter(kTable, {length, C}, {InitialValue::Kind::Normal, 1});
    const auto projected = [&](Tensor ids, const char* name) {
        const InitialValue initial{InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(C))};
        return product(take(table, indices(ids)), flow.stackParameter(name, {H, D, C}, initial)); // [H,rows,D]
    };
    const auto row = [last = length - 1](int64_t i) { return static_cast<double>(std::min(i, last)); };
    const Tensor queryRows =
        flow.byPosition("position.queries", flow.queries, 1, [row](int64_t i, int64_t) { return row(i); });
    const Tensor keyRows = flow.constant("position.keys", {S}, [row, S] {
        std::vector<float> rows;
        for (int64_t s = 0; s < S; ++s) rows.push_back(static_cast<float>(row(s)));
        return rows;
    });
    Tensor term = affine(product(projected(queryRows, kQueryWeights), projected(keyRows, kKeyWeights)), scaleOf(D), 0);
    if (reach > 0) {
        const Tensor byDistance = learnedByDistance(
            flow, kDiagonals, 2 * reach + 1, [reach](int64_t d) { return std::clamp(d, -reach, reach) + reach; });
        const int64_t count = flow.queries + S - 1;
        term = plus(term, diagonals(broadcast(reshape(byDistance, {H, 1, count}), {H, flow.queries, count}), S));
    }
    if (values.flag("cls")) {
        const auto free = [&](const char* name, const char* cells, bool (*isFree)(int64_t, int64_t)) {
            const Tensor where =
                flow.byCell(cells, [isFree](int64_t t, int64_t s) { return isFree(t, s) ? 1.0 : 0.0; });
            term = select(where, flow.stackParameter(name, {H, 1, 1}, {InitialValue::Kind::Zero}), term);
        };
        free(kFirstQuery, "position.is_first_query", [](int64_t t, int64_t) { return t == 0; });
        free(kFirstKey, "position.is_first_key", [](int64_t t, int64_t s) { return t > 0 && s == 0; });
    }
    flow.show("position.bias", term);
    flow.scores = affine(flow.scores, kShareOfContent, 0);
    flow.addToScores("position.bias", term);
}

void reference(ReferenceFlow& flow, PartValues values) {
    const int64_t length = values.integer("length"), reach = values.integer("reach"), C = flow.heads * flow.width;
    const Dense &table = flow.parameters.at(kTable), &ofQuery = flow.parameters.at(kQueryWeights),
                &ofKey = flow.parameters.at(kKeyWeights);
    const auto projected = [&](const Dense& weights, int64_t h, int64_t i, int64_t d) {
        double sum = 0;
        for (int64_t c = 0; c < C; ++c) sum += table.at(std::min(i, length - 1), c) * weights.at(h, d, c);
        return sum;
    };
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s) {
                double term = 0;
                for (int64_t d = 0; d < flow.width; ++d)
                    term += projected(ofQuery, h, t, d) * projected(ofKey, h, s, d) * scaleOf(flow.width);
                if (reach > 0) term += flow.parameters.at(kDiagonals).at(std::clamp(s - t, -reach, reach) + reach, h);
                if (values.flag("cls") && t == 0) term = flow.parameters.at(kFirstQuery).at(h, 0, 0);
                if (values.flag("cls") && t > 0 && s == 0) term = flow.parameters.at(kFirstKey).at(h, 0, 0);
                double& score = flow.scores.at(h, t, s);
                score = score * kShareOfContent + term;
            }
}

} // namespace

const Part kTupePosition{
    .id = "tupe",
    .slot = Slot::Position,
    .title = "Untied positions, TUPE",
    .idea =
        "Words and positions have projections of their own, and a score is the sum of both products. All layers share "
        "the positions, and the first token gets a learned number instead. Difference from the paper: distances have "
        "a number each, not buckets.",
    .formula = "s(i,j) = q_i . k_j / sqrt(2 D) + (p_i U_Q) . (p_j U_K) / sqrt(2 D) + b_h[clip(j - i)]",
    .source = {"Ke et al.", 2021, "Rethinking Positional Encoding in Language Pre-training",
               "section 3, equations 7 to 10", "arXiv:2006.15595"},
    .params = kParams,
    .time = "O(T S D)",
    .memory = "O(L C + C^2) parameters for all layers",
    .hooks = {{Stage::Bias, build, reference}},
    .position = {.multipliesScores = true},
    .actsOnScores = true};

} // namespace attn
