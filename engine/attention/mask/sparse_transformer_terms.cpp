#include "engine/attention/mask/mask_call.h"
#include "engine/attention/mask/term_params.h"
#include "engine/attention/parts.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr Citation kSparseTransformer{"Child et al.", 2019, "Generating Long Sequences with Sparse Transformers",
                                      "section 4.3", "arXiv:1904.10509"};

constexpr Param kStride =
    wholeNumber("l", "Stride", "Both parts are equally large near the square root of the length", 1, 8);
constexpr Param kSummaries = wholeNumber("c", "Summary tokens", "The last c tokens of each block of l", 1, 2);
constexpr std::array kStridedParams{kStride};
constexpr std::array kFixedParams{kStride, kSummaries};

/// The last `count` tokens of every block of `length`, up to the query.
void seeSummaries(int64_t query, int64_t length, int64_t count, BitRow& row) {
    count = std::min(count, length); // with more than l all keys are seen
    row.setEvery(length - count, query + 1, length, count);
}

} // namespace

const Part kStridedMask{
    .id = "strided",
    .slot = Slot::Mask,
    .title = "Strided",
    .idea = "A query sees the l keys before it and, further back, every l-th key. Two steps link any two tokens, "
            "which suits data with a period, such as the rows of a picture.",
    .formula = "j ≤ i and (i-j ≤ l or (i-j) mod l = 0)",
    .source = kSparseTransformer,
    .params = kStridedParams,
    .time = "O(T (l + T/l) D)",
    .memory = "O(T (l + T/l))",
    .whole = "position=learned_2d, mask=causal & (strided(12) | global(1))",
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                const int64_t stride = call.integer("l");
                row.setRange(query - stride, query + 1);
                row.setEvery(query % stride, query + 1, stride);
            },
    }};

const Part kFixedMask{
    .id = "fixed",
    .slot = Slot::Mask,
    .title = "Fixed",
    .idea = "A query sees its own block of l tokens and the last c tokens of every earlier block. These learn to "
            "summarise their block, which suits text.",
    .formula = "j ≤ i and (⌊j/l⌋ = ⌊i/l⌋ or j mod l ≥ l-c)",
    .source = kSparseTransformer,
    .params = kFixedParams,
    .time = "O(T (l + c T/l) D)",
    .memory = "O(T (l + c T/l))",
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                const int64_t length = call.integer("l");
                row.setRange(query / length * length, query + 1);
                seeSummaries(query, length, call.integer("c"), row);
            },
    }};

const Part kSummaryMask{
    .id = "summary",
    .slot = Slot::Mask,
    .title = "Summary tokens",
    .idea = "A query sees the last c tokens of every block of l, except those that lie ahead. It is the second of the "
            "fixed pattern's two heads.",
    .formula = "j ≤ i and j mod l ≥ l-c",
    .source = kSparseTransformer,
    .params = kFixedParams,
    .time = "O(T (c T/l) D)",
    .memory = "O(T (c T/l))",
    .whole = "mask=fixed(8, 2)",
    .mask = {
        .row = [](const MaskCall& call, int64_t query,
                  BitRow& row) { seeSummaries(query, call.integer("l"), call.integer("c"), row); },
    }};

} // namespace attn
