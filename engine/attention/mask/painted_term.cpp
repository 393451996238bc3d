#include "engine/attention/mask/mask_call.h"
#include "engine/attention/mask/painted.h"
#include "engine/attention/mask/term_params.h"
#include "engine/attention/parts.h"
#include "engine/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array kPaintedParams{
    wholeNumber("n", "Size", "Number of queries and keys that are painted; all others are hidden", 1, 4),
    wholeNumber("runs", "Runs", "Lengths of alternately hidden and visible runs of cells, row by row, hidden first", 0,
                0, kLongestMask* kLongestMask)};
// A plus sign.
constexpr std::array<double, 6> kInitialRuns{1, 1, 2, 3, 2, 1};

/// Where each run ends.
std::vector<int64_t> endsOfRuns(PartValues values) {
    const int64_t size = values.integer("n");
    const std::span<const double> runs = values.list("runs");
    std::vector<int64_t> ends;
    ends.reserve(runs.size());
    int64_t end = 0;
    for (double run : runs) {
        end += static_cast<int64_t>(run);
        if (end > size * size)
            throw Error({.what = fmt::format("the runs of painted cover more than its {} x {} cells", size, size),
                         .hint = "give a larger size or fewer cells"});
        ends.push_back(end);
    }
    return ends;
}

void seePainted(const MaskCall& call, int64_t query, BitRow& row) {
    const int64_t size = call.integer("n");
    if (query >= size) return;
    const int64_t first = query * size, behind = first + size;
    const std::span<const int64_t> ends = call.prepared;
    auto run = static_cast<size_t>(std::ranges::upper_bound(ends, first) - ends.begin());
    for (int64_t begin = first; run < ends.size() && begin < behind; begin = ends[run++])
        if (run % 2 == 1) row.setRange(begin - first, std::min(ends[run], behind) - first);
}

} // namespace

std::vector<double> paintedValues(std::span<const BitRow> rows) {
    std::vector<double> values{static_cast<double>(rows.size())};
    bool isSeen = false;
    double run = 0;
    for (const BitRow& row : rows)
        for (int64_t key = 0; key < std::ssize(rows); ++key) {
            if (row.test(key) != isSeen) {
                values.push_back(run);
                isSeen = !isSeen;
                run = 0;
            }
            ++run;
        }
    if (isSeen || values.size() == 1) values.push_back(run);
    return values;
}

const Part kPaintedMask{
    .id = "painted",
    .slot = Slot::Mask,
    .title = "Painted by hand",
    .idea = "Any mask at all, cell by cell. As in every mask, the scores of hidden cells become -∞ before the softmax.",
    .formula = "runs of cells, row by row: hidden, seen, hidden, ...",
    .source = {"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2.3", "arXiv:1706.03762"},
    .params = kPaintedParams,
    .time = "O(cells seen · D)",
    .memory = "O(cells seen)",
    .whole = "position=learned, mask=painted(4, 1, 1, 2, 3, 2, 1) | window(4)",
    .mask = {.row = seePainted, .prepare = endsOfRuns},
    .takesList = true,
    .initialList = kInitialRuns,
};

} // namespace attn
