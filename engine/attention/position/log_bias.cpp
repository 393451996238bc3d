#include "engine/attention/mask/grid.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <array>
#include <cmath>

// A small network turns the rows and columns between two patches of a picture, on a logarithmic scale, into a bias.

namespace attn {
namespace {

using namespace terms;

constexpr const char *kFirst = "position.W_1", *kOffset = "position.b_1", *kSecond = "position.W_2";
constexpr double kMost = 16; ///< the largest bias

constexpr std::array kParams{
    kRowsParam, kColumnsParam,
    Param{"hidden", "Hidden", "Hidden units of the network", Param::Kind::Integer, 1, 4096, 1, 64}, kLeadingParam};

/// The offsets of two patches in rows and columns.
struct Offsets {
    Grid grid;
    int64_t wide() const { return 2 * grid.columns - 1; }
    int64_t count() const { return (2 * grid.rows - 1) * wide(); }
    /// The number of the offset of two tokens; -1 where one is not a patch.
    int64_t of(int64_t query, int64_t key) const {
        if (!grid.holds(query) || !grid.holds(key)) return -1;
        return (grid.rowOf(query) - grid.rowOf(key) + grid.rows - 1) * wide() + grid.columnOf(query) -
               grid.columnOf(key) + grid.columns - 1;
    }
    /// The input of the network for an offset: axis 0 for rows, 1 for columns. From -1 to 1.
    double coordinate(int64_t offset, int64_t axis) const {
        const int64_t most = (axis == 0 ? grid.rows : grid.columns) - 1;
        const int64_t distance = axis == 0 ? offset / wide() - most : offset % wide() - most;
        if (distance == 0) return 0;
        const double share = 8 * static_cast<double>(distance) / static_cast<double>(most);
        return std::copysign(std::log2(1 + std::abs(share)) / std::log2(8.0), share);
    }
};

void build(AttentionFlow& flow, PartValues values) {
    const Offsets offsets{Grid::of(values)};
    const int64_t H = flow.heads, T = flow.queries, S = flow.keys, hidden = values.integer("hidden");
    const Tensor inputs = flow.constant("position.offsets", {offsets.count(), 2}, [offsets] {
        std::vector<float> numbers;
        for (int64_t offset = 0; offset < offsets.count(); ++offset)
            for (int64_t axis = 0; axis < 2; ++axis)
                numbers.push_back(static_cast<float>(offsets.coordinate(offset, axis)));
        return numbers;
    });
    const Tensor first = flow.parameter(kFirst, {hidden, 2}, {InitialValue::Kind::Normal, 1}),
                 offset = flow.parameter(kOffset, {1, hidden}, {InitialValue::Kind::Zero}),
                 second = flow.parameter(kSecond, {H, hidden},
                                         {InitialValue::Kind::Normal, 1 / std::sqrt(static_cast<double>(hidden))});
    const Tensor units = unary(plus(product(inputs, first), offset), Unary::Relu);
    const Tensor table = affine(unary(product(units, second), Unary::Sigmoid), kMost, 0); // [offsets,H]
    const Tensor rows = flow.byCell("position.offsets.rows",
                                    [offsets](int64_t t, int64_t s) { return static_cast<double>(offsets.of(t, s)); });
    const Tensor bias = reshape(permute(take(table, indices(rows)), {1, 0}), {H, T, S});
    flow.show("position.bias", bias);
    flow.addToScores("position.bias", bias);
}

void reference(ReferenceFlow& flow, PartValues values) {
    const Offsets offsets{Grid::of(values)};
    const Dense &first = flow.parameters.at(kFirst), &offset = flow.parameters.at(kOffset),
                &second = flow.parameters.at(kSecond);
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s) {
                const int64_t at = offsets.of(t, s);
                if (at < 0) continue;
                double sum = 0;
                for (int64_t u = 0; u < values.integer("hidden"); ++u)
                    sum += second.at(h, u) * std::max(first.at(u, 0) * offsets.coordinate(at, 0) +
                                                          first.at(u, 1) * offsets.coordinate(at, 1) + offset.at(0, u),
                                                      0.0);
                flow.scores.at(h, t, s) += kMost / (1 + std::exp(-sum));
            }
}

} // namespace

const Part kLogBiasPosition{
    .id = "log_bias",
    .slot = Slot::Position,
    .title = "Log-spaced bias by a network, Swin V2",
    .idea = "A small network computes the bias of two patches from the rows and columns between them, on a logarithmic "
            "scale. A model that was trained with small windows therefore knows a sensible bias for larger ones.",
    .formula = "s(i,j) = ... + 16 sigmoid(W_2 ReLU(W_1 d + b_1)), d = sign(x) log_2(1 + |8 x|) / 3 of the offsets x in "
               "shares of the window",
    .source = {"Liu et al.", 2022, "Swin Transformer V2: Scaling Up Capacity and Resolution", "section 3.3",
               "arXiv:2111.09883"},
    .params = kParams,
    .time = "O(T S + rows cols H hidden)",
    .memory = "O(H hidden) parameters, and O(H T S) for the scores",
    .hooks = {{Stage::Bias, build, reference}},
    .position = {.fitsWindow = true},
    .knowsGrid = true,
    .actsOnScores = true};

} // namespace attn
