// ETC's two inputs stand in one sequence here: the g global tokens first, then the long input.
#include "engine/attention/mask/mask_call.h"
#include "engine/attention/mask/term_params.h"
#include "engine/attention/mask/terms.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr Citation kEtc{"Ainslie et al.", 2020, "ETC: Encoding Long and Structured Inputs in Transformers",
                        "section 3.2", "arXiv:2004.08483"};

constexpr Param kGlobals = wholeNumber("g", "Global tokens", "The first g tokens are the global input", 0, 2);
constexpr Param kRadius =
    wholeNumber("r", "Radius", "Neighbours on each side that a token of the long input sees", 0, 3);
constexpr std::array kPieceParams{kGlobals};
constexpr std::array kLocalParams{kGlobals, kRadius};

void seeNeighbours(const MaskCall& call, int64_t query, BitRow& row) {
    const int64_t globals = call.integer("g"), radius = call.integer("r");
    if (query >= globals) row.setRange(std::max(query - radius, globals), query + radius + 1);
}

} // namespace

const Part kGlobalToGlobalMask{
    .id = "g2g",
    .slot = Slot::Mask,
    .title = "ETC, global to global",
    .idea = "The global tokens see one another. They are few, so this piece is small.",
    .formula = "i < g and j < g",
    .source = kEtc,
    .params = kPieceParams,
    .time = "O(g^2 D)",
    .memory = "O(g^2)",
    .maskRow =
        [](const MaskCall& call, int64_t query, BitRow& row) {
            if (query < call.integer("g")) row.setRange(0, call.integer("g"));
        },
};

const Part kGlobalToLongMask{
    .id = "g2l",
    .slot = Slot::Mask,
    .title = "ETC, global to long",
    .idea = "The global tokens see the long input. Each gathers the tokens that belong to it, such as a sentence or a "
            "paragraph.",
    .formula = "i < g and j ≥ g",
    .source = kEtc,
    .params = kPieceParams,
    .time = "O(g S D)",
    .memory = "O(g S)",
    .maskRow =
        [](const MaskCall& call, int64_t query, BitRow& row) {
            if (query < call.integer("g")) row.setRange(call.integer("g"), call.keys());
        },
};

const Part kLongToGlobalMask{
    .id = "l2g",
    .slot = Slot::Mask,
    .title = "ETC, long to global",
    .idea = "The long input sees the global tokens. Through them, information from far away reaches a token.",
    .formula = "i ≥ g and j < g",
    .source = kEtc,
    .params = kPieceParams,
    .time = "O(T g D)",
    .memory = "O(T g)",
    .maskRow =
        [](const MaskCall& call, int64_t query, BitRow& row) {
            if (query >= call.integer("g")) row.setRange(0, call.integer("g"));
        },
};

const Part kLongToLongMask{
    .id = "l2l",
    .slot = Slot::Mask,
    .title = "ETC, long to long",
    .idea = "The long input sees itself within a radius. Without the radius, this is the piece whose cost would grow "
            "with the square of the length.",
    .formula = "i ≥ g and j ≥ g and |i-j| ≤ r",
    .source = kEtc,
    .params = kLocalParams,
    .time = "O(T r D)",
    .memory = "O(T r)",
    .maskRow = seeNeighbours,
};

const Part kEtcMask{
    .id = "etc",
    .slot = Slot::Mask,
    .title = "ETC",
    .idea = "A few global tokens see and are seen by all; otherwise, the tokens of a long input see only their "
            "neighbours. The global tokens may stand for sentences, so the mask can carry structure.",
    .formula = "g2g(g) | g2l(g) | l2g(g) | l2l(g,r)",
    .source = kEtc,
    .params = kLocalParams,
    .time = "O(T (g + r) D)",
    .memory = "O(T (g + r))",
    .maskRow =
        [](const MaskCall& call, int64_t query, BitRow& row) {
            row.setRange(0, query < call.integer("g") ? call.keys() : call.integer("g"));
            seeNeighbours(call, query, row);
        },
};

} // namespace attn
