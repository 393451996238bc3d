// Masks that follow from an order of the tokens.
#include "engine/attention/mask/mask_call.h"
#include "engine/attention/mask/term_params.h"
#include "engine/attention/parts.h"
#include "engine/core/permutation.h"

#include <algorithm>
#include <array>
#include <limits>

namespace attn {
namespace {

constexpr Citation kTransformer{"Vaswani et al.", 2017, "Attention Is All You Need", "section 3.2.3",
                                "arXiv:1706.03762"};
constexpr Citation kXlnet{"Yang et al.", 2019,
                          "XLNet: Generalized Autoregressive Pretraining for Language Understanding", "section 2.3",
                          "arXiv:1906.08237"};

constexpr std::array kPrefixParams{wholeNumber("p", "Prefix", "Keys at the beginning that every query sees", 0, 8)};
constexpr std::array kOrderParams{
    wholeNumber("order", "Order",
                "The tokens in the order in which they are predicted; tokens beyond the list follow in text order", 0,
                0, kLongestMask - 1)};
constexpr int64_t kEverywhere = std::numeric_limits<int64_t>::max();
constexpr std::array<double, 8> kInitialOrder{2, 5, 0, 7, 3, 6, 1, 4};

/// Sets the first `count` tokens of the order; beyond the list it is the order of the sequence.
void seeFirstOfOrder(const MaskCall& call, int64_t count, BitRow& row) {
    const std::span<const double> order = call.values.list("order");
    const auto listed = std::min<int64_t>(count, std::ssize(order));
    for (const double token : order.first(static_cast<size_t>(listed)))
        if (const auto key = static_cast<int64_t>(token); key < call.keys()) row.set(key);
    row.setRange(std::ssize(order), count);
}

std::vector<int64_t> ranksOf(PartValues values) { return inversePermutation(values.list("order")); }

int64_t rankOf(const MaskCall& call, int64_t query) {
    return query < std::ssize(call.prepared) ? call.prepared[static_cast<size_t>(query)] : query;
}

} // namespace

const Part kFullMask{
    .id = "full",
    .slot = Slot::Mask,
    .title = "Full (bidirectional)",
    .idea = "Every query sees every key, in both directions (bidirectional attention). Encoders and cross-attention "
            "work this way.",
    .formula = "always",
    .source = kTransformer,
    .time = "O(T S D)",
    .memory = "O(T S)",
    .mask = {
        .row = [](const MaskCall& call, int64_t, BitRow& row) { row.setRange(0, call.keys()); },
        .band =
            [](PartValues) {
                return MaskBand{kEverywhere, kEverywhere};
            },
    }};

const Part kCausalMask{
    .id = "causal",
    .slot = Slot::Mask,
    .title = "Causal",
    .idea = "A query sees its own token and those before it. A decoder can therefore be trained on all positions at "
            "once and still never looks ahead.",
    .formula = "j ≤ i",
    .source = kTransformer,
    .time = "O(T^2 D)",
    .memory = "O(T^2)",
    .mask = {
        .row = [](const MaskCall&, int64_t query, BitRow& row) { row.setRange(0, query + 1); },
        .band =
            [](PartValues) {
                return MaskBand{kEverywhere, 0};
            },
    }};

const Part kPrefixMask{
    .id = "prefix",
    .slot = Slot::Mask,
    .title = "Prefix",
    .idea = "Every query sees the first p tokens, and otherwise only itself and the tokens before it. A question is "
            "read in both directions while its answer is written from left to right.",
    .formula = "j ≤ i or j < p",
    .source = {"Raffel et al.", 2020,
               "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", "section 3.2.1",
               "arXiv:1910.10683"},
    .params = kPrefixParams,
    .time = "O(T^2 D)",
    .memory = "O(T^2)",
    .mask = {
        .row = [](const MaskCall& call, int64_t query,
                  BitRow& row) { row.setRange(0, std::max(query + 1, call.integer("p"))); },
    }};

const Part kXlnetMask{
    .id = "xlnet",
    .slot = Slot::Mask,
    .title = "XLNet, content stream",
    .idea = "Causal in an order other than that of the text: a query sees itself and the tokens before it in this "
            "order. Over many orders, every token learns to be predicted from both sides.",
    .formula = "P M Pᵀ with M causal: rank of j ≤ rank of i in the order π",
    .source = kXlnet,
    .params = kOrderParams,
    .time = "O(T^2 D)",
    .memory = "O(T^2)",
    .mask = {.row = [](const MaskCall& call, int64_t query,
                       BitRow& row) { seeFirstOfOrder(call, rankOf(call, query) + 1, row); },
             .prepare = ranksOf},
    .takesList = true,
    .initialList = kInitialOrder,
};

const Part kXlnetQueryMask{
    .id = "xlnet_query",
    .slot = Slot::Mask,
    .title = "XLNet, query stream",
    .idea = "Like the content stream, except that a query does not see itself. It knows the position of the token "
            "that it must predict, but not the token.",
    .formula = "rank of j < rank of i in the order π",
    .source = kXlnet,
    .params = kOrderParams,
    .time = "O(T^2 D)",
    .memory = "O(T^2)",
    .whole = "position=learned, mask=xlnet(2, 5, 0, 7, 3, 6, 1, 4)",
    .mask = {.row = [](const MaskCall& call, int64_t query,
                       BitRow& row) { seeFirstOfOrder(call, rankOf(call, query), row); },
             .prepare = ranksOf},
    .takesList = true,
    .initialList = kInitialOrder,
};

} // namespace attn
