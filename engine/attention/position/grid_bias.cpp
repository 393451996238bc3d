#include "engine/attention/mask/grid.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"

#include <algorithm>
#include <array>

// A learned number for every head and every offset in rows and columns between two patches of a picture.

namespace attn {
namespace {

using namespace terms;

constexpr const char* kTable = "position.grid_bias";

constexpr std::array kParams{kRowsParam, kColumnsParam,
                             Param{"reach", "Reach", "Larger distances in rows or columns share the number of this one",
                                   Param::Kind::Integer, 1, 64, 1, 3},
                             kLeadingParam};

struct Ways {
    Grid grid;
    int64_t reach;

    explicit Ways(PartValues values) : grid(Grid::of(values)), reach(values.integer("reach")) {}

    int64_t side() const { return 2 * reach + 1; }
    /// Row of the table; -1 where the query or the key is not a patch of the picture.
    int64_t of(int64_t query, int64_t key) const {
        if (!grid.holds(query) || !grid.holds(key)) return -1;
        const auto clipped = [&](int64_t distance) { return std::clamp(distance, -reach, reach) + reach; };
        return clipped(grid.rowOf(query) - grid.rowOf(key)) * side() +
               clipped(grid.columnOf(query) - grid.columnOf(key));
    }
};

void build(AttentionFlow& flow, PartValues values) {
    const Ways ways(values);
    const int64_t H = flow.heads, T = flow.queries, S = flow.keys;
    const Tensor table = flow.parameter(kTable, {ways.side() * ways.side(), H}, {InitialValue::Kind::Normal, 0.2});
    const Tensor rows = flow.byCell(std::string(kTable) + ".rows",
                                    [ways](int64_t t, int64_t s) { return static_cast<double>(ways.of(t, s)); });
    const Tensor byCell = take(table, indices(rows)); // [T S, H]
    const Tensor bias = reshape(permute(byCell, {1, 0}), {H, T, S});
    flow.show("position.bias", bias);
    flow.addToScores("position.bias", bias);
}

void reference(ReferenceFlow& flow, PartValues values) {
    const Ways ways(values);
    const Dense& table = flow.parameters.at(kTable);
    for (int64_t h = 0; h < flow.heads; ++h)
        for (int64_t t = 0; t < flow.queries; ++t)
            for (int64_t s = 0; s < flow.keys; ++s)
                if (const int64_t row = ways.of(t, s); row >= 0) flow.scores.at(h, t, s) += table.at(row, h);
}

} // namespace

const Part kGridBiasPosition{
    .id = "grid_bias",
    .slot = Slot::Position,
    .title = "Relative position bias on a grid",
    .idea = "Adds to every score a learned number that depends on the rows and columns between the two patches of a "
            "picture; each head has its own table. Together with shifted windows this is Swin's attention.",
    .formula = "s(i,j) = q_i·k_j / sqrt(D) + B_h[row_i - row_j, column_i - column_j]",
    .source = {"Liu et al.", 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows",
               "section 3.2, equation 4", "arXiv:2103.14030"},
    .params = kParams,
    .time = "O(T S)",
    .memory = "O(H reach^2), and O(H T S) for the scores",
    .hooks = {{Stage::Bias, build, reference}},
    .position = {.fitsWindow = true},
    .knowsGrid = true,
    .actsOnScores = true};

} // namespace attn
