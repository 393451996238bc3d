#include "engine/attention/mask/mask_call.h"
#include "engine/attention/mask/term_params.h"
#include "engine/attention/parts.h"
#include "engine/core/permutation.h"

#include <array>

namespace attn {
namespace {

constexpr Citation kBlockwise{"Qiu et al.", 2020, "Blockwise Self-Attention for Long Document Understanding",
                              "section 3", "arXiv:1911.02972"};

constexpr Param kBlock = wholeNumber("b", "Block", "Tokens in a block", 1, 4);
constexpr std::array kBlocksParams{kBlock};
constexpr std::array kPermutedParams{
    kBlock, wholeNumber("order", "Order", "The block that each block sees; blocks beyond the list see themselves", 0, 0,
                        kLongestMask - 1)};
constexpr std::array<double, 4> kInitialOrder{1, 2, 3, 0};

void seeBlock(int64_t block, int64_t length, BitRow& row) { row.setRange(block * length, (block + 1) * length); }

} // namespace

const Part kBlocksMask{
    .id = "blocks",
    .slot = Slot::Mask,
    .title = "Blocks",
    .idea = "The sequence is divided into blocks of b tokens that see only themselves. No information passes from one "
            "block to another unless another layer or head carries it.",
    .formula = "⌊i/b⌋ = ⌊j/b⌋",
    .source = kBlockwise,
    .params = kBlocksParams,
    .time = "O(T b D)",
    .memory = "O(T b)",
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                const int64_t length = call.integer("b");
                seeBlock(query / length, length, row);
            },
    }};

const Part kPermutedBlocksMask{
    .id = "permuted_blocks",
    .slot = Slot::Mask,
    .title = "Permuted blocks",
    .idea = "Block p of the queries sees block π(p) of the keys. Heads with different permutations join distant "
            "tokens at the cost of one block each.",
    .formula = "⌊j/b⌋ = π(⌊i/b⌋)",
    .source = kBlockwise,
    .params = kPermutedParams,
    .time = "O(T b D)",
    .memory = "O(T b)",
    .mask = {.row =
                 [](const MaskCall& call, int64_t query, BitRow& row) {
                     const int64_t length = call.integer("b"), block = query / length;
                     const std::span<const double> order = call.values.list("order");
                     const bool isListed = block < std::ssize(order);
                     seeBlock(isListed ? static_cast<int64_t>(order[static_cast<size_t>(block)]) : block, length, row);
                 },
             .prepare = [](PartValues values) { return inversePermutation(values.list("order")); }},
    .takesList = true,
    .initialList = kInitialOrder,
};

} // namespace attn
