#include "engine/attention/mask/grid.h"
#include "engine/attention/mask/mask_call.h"
#include "engine/attention/parts.h"

#include <array>

namespace attn {
namespace {

// The paper generates images and so adds a causal mask; here that is `causal & local1d(...)`. With two dimensions it
// writes block after block: `by_block`. Without it the text is the picture row by row.
constexpr Citation kImageTransformer{"Parmar et al.", 2018, "Image Transformer", "section 3.3", "arXiv:1802.05751"};

constexpr std::array kLocal1dParams{wholeNumber("b", "Block", "Tokens in a block", 1, 4),
                                    wholeNumber("before", "Before", "Keys before the block that it also sees", 0, 2)};
constexpr std::array kLocal2dParams{
    kRowsParam,
    kColumnsParam,
    wholeNumber("h", "Block height", "Rows of a query block", 1, 2),
    wholeNumber("w", "Block width", "Columns of a query block", 1, 2),
    wholeNumber("up", "Up", "Rows above the block that it also sees", 0, 1),
    wholeNumber("side", "Side", "Columns on each side that it also sees", 0, 1),
    kLeadingParam,
    wholeNumber(kByBlock, "Block by block", "1: the text writes one block after the other; 0: the picture row by row",
                0, 0, 1)};

} // namespace

const Part kLocal1dMask{
    .id = "local1d",
    .slot = Slot::Mask,
    .title = "Local 1D blocks",
    .idea = "The pixels in raster order are divided into blocks of b, and a block sees itself and some keys before "
            "it. All queries of a block share their keys, which suits the hardware.",
    .formula = "⌊i/b⌋·b - before ≤ j < (⌊i/b⌋+1)·b",
    .source = kImageTransformer,
    .params = kLocal1dParams,
    .time = "O(T (b + before) D)",
    .memory = "O(T (b + before))",
    .whole = "position=learned_2d, mask=causal & (local1d(24, 24) | global(1))",
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                const int64_t length = call.integer("b"), begin = query / length * length;
                row.setRange(begin - call.integer("before"), begin + length);
            },
    }};

const Part kLocal2dMask{
    .id = "local2d",
    .slot = Slot::Mask,
    .title = "Local 2D blocks",
    .idea =
        "The picture is divided into blocks of h x w, and a block sees itself, some rows above it and some "
        "columns on each side. Pixels that are close in the picture see each other even if they are far apart in "
        "the sequence. The paper writes the picture block by block, so that a pixel under the causal mask sees whole "
        "blocks to its left and above; the task pixels does so with block_height and block_width.",
    .formula = "with y, x the block's first row and column: y-up ≤ row of j < y+h, x-side ≤ column of j < x+w+side",
    .source = kImageTransformer,
    .params = kLocal2dParams,
    .time = "O(T (h + up) (w + 2 side) D)",
    .memory = "O(T (h + up) (w + 2 side))",
    .whole = "position=learned_2d, mask=causal & local2d(8, 8, 4, 4, 4, 4)",
    .mask = {.row =
                 [](const MaskCall& call, int64_t query, BitRow& row) {
                     Grid grid = Grid::of(call.values);
                     if (call.values.flag(kByBlock))
                         grid.blockRows = call.integer("h"), grid.blockColumns = call.integer("w");
                     grid.seeLeading(query, row);
                     if (!grid.holds(query)) return;
                     const int64_t height = call.integer("h"), width = call.integer("w");
                     const int64_t up = call.integer("up"), side = call.integer("side");
                     const int64_t top = grid.rowOf(query) / height * height,
                                   left = grid.columnOf(query) / width * width;
                     grid.see({top - up, top + height, left - side, left + width + side}, row);
                 },
             .optionalParams = 2},
    .knowsGrid = true,
};

} // namespace attn
