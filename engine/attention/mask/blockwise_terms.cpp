#include "engine/attention/mask/mask_call.h"
#include "engine/attention/mask/permutation.h"
#include "engine/attention/mask/term_params.h"
#include "engine/attention/mask/terms.h"

#include <array>

namespace attn {
namespace {

constexpr Citation kBlockwise{"Qiu et al.", 2020, "Blockwise Self-Attention for Long Document Understanding",
                              "section 3", "arXiv:1911.02972"};

constexpr Param kBlock = wholeNumber("b", "Block", "Tokens in a block", 1, 4);
constexpr std::array kBlocksParams{kBlock};
constexpr std::array kPermutedParams{
    kBlock, wholeNumber("order", "Order", "For each block the one that it sees; blocks beyond the list see themselves",
                        0, 0, kLongestMask - 1)};
constexpr std::array<double, 4> kInitialOrder{1, 2, 3, 0};

void seeBlock(int64_t block, int64_t length, BitRow& row) { row.setRange(block * length, (block + 1) * length); }

} // namespace

const Part kBlocksMask{
    .id = "blocks",
    .slot = Slot::Mask,
    .title = "Blocks",
    .idea = "The sequence falls into blocks of b tokens that see only themselves. Nothing passes from one to the next "
            "unless another layer or head lets it.",
    .formula = "⌊i/b⌋ = ⌊j/b⌋",
    .source = kBlockwise,
    .params = kBlocksParams,
    .time = "O(T b D)",
    .memory = "O(T b)",
    .maskRow =
        [](const MaskCall& call, int64_t query, BitRow& row) {
            const int64_t length = call.integer("b");
            seeBlock(query / length, length, row);
        },
};

const Part kPermutedBlocksMask{
    .id = "permuted_blocks",
    .slot = Slot::Mask,
    .title = "Permuted blocks",
    .idea = "Block p of the queries sees block π(p) of the keys. Heads with other permutations join what is far apart "
            "at the price of one block each.",
    .formula = "⌊j/b⌋ = π(⌊i/b⌋)",
    .source = kBlockwise,
    .params = kPermutedParams,
    .time = "O(T b D)",
    .memory = "O(T b)",
    .maskRow =
        [](const MaskCall& call, int64_t query, BitRow& row) {
            const int64_t length = call.integer("b"), block = query / length;
            const std::span<const double> order = call.values.list("order");
            const bool isListed = block < std::ssize(order);
            seeBlock(isListed ? static_cast<int64_t>(order[static_cast<size_t>(block)]) : block, length, row);
        },
    .prepareMask = [](PartValues values) { return inversePermutation(values.list("order")); },
    .takesList = true,
    .initialList = kInitialOrder,
};

} // namespace attn
