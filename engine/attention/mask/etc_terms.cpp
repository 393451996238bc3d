// ETC's two inputs stand in one sequence here: the g global tokens first, then the long input.
#include "engine/attention/mask/mask_call.h"
#include "engine/attention/mask/segments.h"
#include "engine/attention/mask/term_params.h"
#include "engine/attention/parts.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr Citation kEtc{"Ainslie et al.", 2020, "ETC: Encoding Long and Structured Inputs in Transformers",
                        "section 3.2", "arXiv:2004.08483"};
constexpr Citation kEtcStructure{"Ainslie et al.", 2020, "ETC: Encoding Long and Structured Inputs in Transformers",
                                 "section 3", "arXiv:2004.08483"};

constexpr Param kGlobals = wholeNumber("g", "Global tokens", "The first g tokens are the global input", 0, 2);
constexpr Param kRadius =
    wholeNumber("r", "Radius", "Neighbours on each side that a token of the long input sees", 0, 3);
constexpr Param kSegmentCount =
    wholeNumber("g", "Global tokens", "The first g tokens are the global input; each stands for one segment", 1, 4);
constexpr Param kSegmentLength =
    wholeNumber("n", "Length of a segment", "Tokens of the long input in a segment", 1, 15);
constexpr std::array kPieceParams{kGlobals};
constexpr std::array kLocalParams{kGlobals, kRadius};
constexpr std::array kSegmentParams{kSegmentCount, kSegmentLength};
constexpr std::array kHardParams{kSegmentCount, kRadius, kSegmentLength};

constexpr std::string_view kWhole = "heads=multi_head(4), position=learned, mask=etc(2, 3)",
                           kHardWhole = "heads=multi_head(4), position=etc(4, 15, 8), mask=etc_hard(4, 8, 15)";

Segments segmentsOf(const MaskCall& call) { return {.count = call.integer("g"), .length = call.integer("n")}; }
void seeSegment(const Segments& segments, int64_t segment, BitRow& row) {
    row.setRange(segments.begin(segment), segments.begin(segment + 1));
}

void seeNeighbours(const MaskCall& call, int64_t query, BitRow& row) {
    const int64_t globals = call.integer("g"), radius = call.integer("r");
    if (query >= globals) row.setRange(std::max(query - radius, globals), query + radius + 1);
}

} // namespace

const Part kGlobalToGlobalMask{.id = "g2g",
                               .slot = Slot::Mask,
                               .title = "ETC, global to global",
                               .idea = "The global tokens see one another. They are few, so this piece is small.",
                               .formula = "i < g and j < g",
                               .source = kEtc,
                               .params = kPieceParams,
                               .time = "O(g^2 D)",
                               .memory = "O(g^2)",
                               .whole = kWhole,
                               .mask = {
                                   .row =
                                       [](const MaskCall& call, int64_t query, BitRow& row) {
                                           if (query < call.integer("g")) row.setRange(0, call.integer("g"));
                                       },
                               }};

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
    .whole = kWhole,
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                if (query < call.integer("g")) row.setRange(call.integer("g"), call.keys());
            },
    }};

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
    .whole = kWhole,
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                if (query >= call.integer("g")) row.setRange(0, call.integer("g"));
            },
    }};

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
    .whole = kWhole,
    .mask = {
        .row = seeNeighbours,
    }};

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
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                row.setRange(0, query < call.integer("g") ? call.keys() : call.integer("g"));
                seeNeighbours(call, query, row);
            },
    }};

const Part kHardG2lMask{
    .id = "g2l_hard",
    .slot = Slot::Mask,
    .title = "ETC, global to its own segment",
    .idea =
        "A global token sees one segment of the long input, such as a sentence, and no other. So it becomes a summary "
        "of this segment.",
    .formula = "i < g and g + i·n ≤ j < g + (i+1)·n",
    .source = kEtcStructure,
    .params = kSegmentParams,
    .time = "O(g n D)",
    .memory = "O(g n)",
    .whole = kHardWhole,
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                const Segments segments = segmentsOf(call);
                if (segments.isGlobal(query)) seeSegment(segments, query, row);
            },
    }};

const Part kHardEtcMask{
    .id = "etc_hard",
    .slot = Slot::Mask,
    .title = "ETC with segments",
    .idea = "The long input is cut into segments of n tokens, and each global token sees only its own segment and the "
            "other global tokens. The long input sees all global tokens and its neighbours within a radius.",
    .formula = "g2g(g) | g2l_hard(g,n) | l2g(g) | l2l(g,r)",
    .source = kEtcStructure,
    .params = kHardParams,
    .time = "O((g^2 + g n + T (g + r)) D)",
    .memory = "O(g^2 + g n + T (g + r))",
    .whole = kHardWhole,
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                const Segments segments = segmentsOf(call);
                row.setRange(0, segments.count);
                if (segments.isGlobal(query)) seeSegment(segments, query, row);
                seeNeighbours(call, query, row);
            },
    }};

const Part kOwnSegmentMask{
    .id = "own_segment",
    .slot = Slot::Mask,
    .title = "ETC, one segment alone",
    .idea = "The tokens of a segment and their global token see one another and nothing else. Contrastive predictive "
            "coding makes the summary of a segment this way, with which the summary of the hidden segment must agree.",
    .formula = "segment(i) = segment(j); global token i is of segment i",
    .source = {"Ainslie et al.", 2020, "ETC: Encoding Long and Structured Inputs in Transformers", "section 3",
               "arXiv:2004.08483"},
    .params = kSegmentParams,
    .time = "O(T n D)",
    .memory = "O(T n)",
    .whole = kHardWhole,
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                const Segments segments = segmentsOf(call);
                const int64_t own = segments.of(query);
                if (own < 0) return;
                row.setRange(own, own + 1);
                seeSegment(segments, own, row);
            },
    }};

} // namespace attn
