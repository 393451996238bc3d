// Masks for pictures: patches in a sequence, row by row.
#include "engine/attention/mask/grid.h"
#include "engine/attention/mask/mask_call.h"
#include "engine/attention/parts.h"

#include <array>

namespace attn {
namespace {

constexpr Citation kAxial{"Ho et al.", 2019, "Axial Attention in Multidimensional Transformers", "section 3",
                          "arXiv:1912.12180"};

constexpr std::array kGridParams{kRowsParam, kColumnsParam, kLeadingParam};
constexpr std::array kShiftedParams{
    kRowsParam, kColumnsParam, wholeNumber("window", "Window", "Rows and columns of a window", 1, 2),
    wholeNumber("shift", "Shift", "Patches by which the windows move down and to the right", 0, 1), kLeadingParam};

void seeRow(const MaskCall& call, int64_t query, BitRow& row) {
    const Grid grid = Grid::of(call.values);
    grid.seeLeading(query, row);
    if (!grid.holds(query)) return;
    const int64_t begin = grid.leading + grid.rowOf(query) * grid.columns;
    row.setRange(begin, begin + grid.columns);
}

void seeColumn(const MaskCall& call, int64_t query, BitRow& row) {
    const Grid grid = Grid::of(call.values);
    grid.seeLeading(query, row);
    if (grid.holds(query)) row.setEvery(grid.leading + grid.columnOf(query), grid.end(), grid.columns);
}

/// The first row or column of the window around `place`; negative for windows that begin before the picture.
int64_t windowBegin(int64_t place, int64_t window, int64_t shift) {
    const int64_t phase = shift % window;
    return (place + window - phase) / window * window - window + phase;
}

} // namespace

const Part kRowMask{
    .id = "row",
    .slot = Slot::Mask,
    .title = "Row of a picture",
    .idea = "A patch sees the patches of its row. With a second layer along the columns, it has seen the whole "
            "picture.",
    .formula = "⌊i/cols⌋ = ⌊j/cols⌋, patches i and j < rows·cols",
    .source = kAxial,
    .params = kGridParams,
    .time = "O(T cols D)",
    .memory = "O(T cols)",
    .whole = "position=learned, mask=per_layer(row(8, 8), column(8, 8))",
    .mask = {.row = seeRow, .optionalParams = 1},
    .knowsGrid = true,
};

const Part kColumnMask{
    .id = "column",
    .slot = Slot::Mask,
    .title = "Column of a picture",
    .idea = "A patch sees the patches of its column. It is the row mask of the picture turned by 90 degrees.",
    .formula = "i mod cols = j mod cols, patches i and j < rows·cols",
    .source = kAxial,
    .params = kGridParams,
    .time = "O(T rows D)",
    .memory = "O(T rows)",
    .whole = "position=learned, mask=per_layer(row(8, 8), column(8, 8))",
    .mask = {.row = seeColumn, .optionalParams = 1},
    .knowsGrid = true,
};

const Part kAxialMask{
    .id = "axial",
    .slot = Slot::Mask,
    .title = "Axial",
    .idea =
        "A patch sees its row and its column. The paper gives each axis its own layer; this mask joins both, and "
        "per_layer(row, column) is the paper's way. Where pixels are written in order, it never sees those above and "
        "to the right.",
    .formula = "row(rows,cols) | column(rows,cols)",
    .source = kAxial,
    .params = kGridParams,
    .time = "O(T (rows + cols) D)",
    .memory = "O(T (rows + cols))",
    .whole = "position=learned_2d, mask=causal & axial(8, 8)",
    .mask = {.row =
                 [](const MaskCall& call, int64_t query, BitRow& row) {
                     seeRow(call, query, row);
                     seeColumn(call, query, row);
                 },
             .optionalParams = 1},
    .knowsGrid = true,
};

const Part kShiftedMask{
    .id = "shifted",
    .slot = Slot::Mask,
    .title = "Shifted windows",
    .idea = "The picture is divided into square windows, and a patch sees only its own window. Every second layer "
            "shifts the windows, so patches that one layer separates meet in the next.",
    .formula = "i and j in one window: ⌊(row-shift)/window⌋ and ⌊(column-shift)/window⌋ are equal",
    .source = {"Liu et al.", 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows",
               "section 3.2", "arXiv:2103.14030"},
    .params = kShiftedParams,
    .time = "O(T window^2 D)",
    .memory = "O(T window^2)",
    .whole = "position=learned, mask=per_layer(shifted(8, 8, 4, 0), shifted(8, 8, 4, 2))",
    .mask = {.row =
                 [](const MaskCall& call, int64_t query, BitRow& row) {
                     const Grid grid = Grid::of(call.values);
                     grid.seeLeading(query, row);
                     if (!grid.holds(query)) return;
                     const int64_t window = call.integer("window"), shift = call.integer("shift");
                     const int64_t top = windowBegin(grid.rowOf(query), window, shift);
                     const int64_t left = windowBegin(grid.columnOf(query), window, shift);
                     grid.see({top, top + window, left, left + window}, row);
                 },
             .optionalParams = 1},
    .knowsGrid = true,
};

} // namespace attn
