#include "engine/attention/block/block_flow.h"
#include "engine/attention/mask/grid.h"
#include "engine/attention/parts.h"
#include "engine/attention/terms.h"
#include "engine/ops/ops.h"

#include <array>

namespace attn {
namespace {

using namespace terms;

constexpr std::array kAxialParams{
    kRowsParam, kColumnsParam,
    wholeNumber("outer", "Outer layers",
                "The first layers of the model, which are the outer decoder; the others are the inner one", 1, 2),
    kLeadingParam};

int64_t outerOf(PartValues values) { return values.integer("outer"); }

/// The number of positions by which the rows of the outer decoder move: position t, which predicts the pixel of token
/// t + 1, takes the row of the token above that pixel.
int64_t stepDown(const Grid& grid) { return grid.columns - 1; }

/// At the first layer of the inner decoder, both streams become the outer one, moved down, plus the embedding.
/// @param x [rows, 2 C]: the outer decoder's rows, then the embedding
Tensor beforeAxial(BlockFlow& flow, PartValues values, Tensor x) {
    if (flow.layer != outerOf(values)) return x;
    const Grid grid = Grid::of(values);
    const int64_t C = flow.width, length = flow.sequence == 0 ? x.shape()[0] : flow.sequence, B = x.shape()[0] / length,
                  begin = grid.leading + stepDown(grid), moved = length - begin;
    Tensor h = slice(x, -1, C, C);
    if (moved > 0) {
        const Tensor outer = slice(reshape(slice(x, -1, 0, C), {B, length, C}), 1, grid.leading, moved);
        h = add(h, reshape(pad(outer, 1, begin, 0), {B * length, C}));
    }
    return beside(h, h);
}
Dense beforeAxialReference(const BlockReference& flow, PartValues values, const Dense& x) {
    if (flow.layer != outerOf(values)) return x;
    const Grid grid = Grid::of(values);
    const int64_t C = flow.width;
    Dense y(x.extents);
    for (int64_t t = 0; t < x.extents[0]; ++t) {
        const int64_t above = t + 1 - grid.columns;
        for (int64_t c = 0; c < C; ++c)
            y.at(t, c) = y.at(t, C + c) = x.at(t, C + c) + (above >= grid.leading ? x.at(above, c) : 0);
    }
    return y;
}

/// In the outer decoder a sublayer reads the first stream and adds to it; in the inner one both streams are equal.
Tensor joinAxial(BlockFlow& flow, PartValues values, const std::string&, Tensor x, const Sublayer& norm,
                 const Sublayer& sublayer) {
    const int64_t C = flow.width;
    const Tensor read = slice(x, -1, 0, C), written = add(read, sublayer(norm(read)));
    return beside(written, flow.layer < outerOf(values) ? slice(x, -1, C, C) : written);
}
Dense joinAxialReference(const BlockReference& flow, PartValues values, const std::string&, const Dense& x,
                         const ReferenceSublayer& norm, const ReferenceSublayer& sublayer) {
    const int64_t rows = x.extents[0], C = flow.width;
    Dense read({rows, C}), y = x;
    for (int64_t t = 0; t < rows; ++t)
        for (int64_t c = 0; c < C; ++c) read.at(t, c) = x.at(t, c);
    const Dense added = sublayer(norm(read));
    for (int64_t t = 0; t < rows; ++t)
        for (int64_t c = 0; c < C; ++c) {
            y.at(t, c) += added.at(t, c);
            if (flow.layer >= outerOf(values)) y.at(t, C + c) = y.at(t, c);
        }
    return y;
}

/// In the outer decoder the end of the pixel's row.
int64_t lastKey(PartValues values, int64_t layer, int64_t query) {
    const Grid grid = Grid::of(values);
    if (layer >= outerOf(values) || !grid.holds(query)) return query;
    return grid.leading + (grid.rowOf(query) + 1) * grid.columns - 1;
}

constexpr BlockHooks kAxialHooks{.join = joinAxial,
                                 .joinReference = joinAxialReference,
                                 .before = beforeAxial,
                                 .beforeReference = beforeAxialReference,
                                 .lastKey = lastKey,
                                 .leastLayers = [](PartValues values) { return outerOf(values) + 1; },
                                 .streams = 2};

} // namespace

const Part kAxialResidual{
    .id = "axial",
    .slot = Slot::Residual,
    .title = "Outer and inner decoder, Axial Transformer",
    .idea =
        "The first layers see whole rows of a picture up to that of their own pixel. Their result moves down by one "
        "row, so that a pixel knows all rows above it, and is added to the embedding of the pixel before; the other "
        "layers see the pixel's own row up to that one.",
    .formula = "inner: y = h + f(norm(h)), h(row,col) = outer(row-1,col) + embedding(row,col-1)",
    .source = {"Ho et al.", 2019, "Axial Attention in Multidimensional Transformers", "sections 3.2 and 3.3",
               "arXiv:1912.12180"},
    .params = kAxialParams,
    .time = "O(T C)",
    .memory = "O(T C)",
    .caution =
        "In the first column the embedding is that of the last pixel of the row above, where the paper has zeros, "
        "and positions are those of that pixel, not of the one that is written. Channels are columns of their own, "
        "where the paper has a decoder for each.",
    .whole = "position=learned_2d(12, 12, 1), residual=axial(12, 12, 2, 1), "
             "mask=per_layer(row(12, 12, 1) & (causal | ~global(1)), causal & column(12, 12, 1), causal & blocks(12))",
    .block = &kAxialHooks,
    .knowsGrid = true};

} // namespace attn
