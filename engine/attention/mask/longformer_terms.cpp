// Windows around each token, and tokens that see and are seen by all.
#include "engine/attention/mask/mask_call.h"
#include "engine/attention/mask/term_params.h"
#include "engine/attention/parts.h"

#include <array>

namespace attn {
namespace {

// The paper's window counts both sides; here w counts one side and the token itself, as the formulas say.
constexpr Citation kLongformer{"Beltagy et al.", 2020, "Longformer: The Long-Document Transformer", "section 3.1",
                               "arXiv:2004.05150"};

constexpr Param kWidth = wholeNumber("w", "Window", "Keys on one side, including the token itself", 1, 4);
constexpr Param kDilation = wholeNumber("d", "Dilation", "Distance from one key of the window to the next", 1, 2);
constexpr Param kGlobals =
    wholeNumber("g", "Global tokens", "The first g tokens see everything and are seen by all", 0, 1);
constexpr std::array kWindowParams{kWidth};
constexpr std::array kDilatedParams{kWidth, kDilation};
constexpr std::array kGlobalParams{kGlobals};
constexpr std::array kLongformerParams{kWidth, kDilation, kGlobals};

void seeWindow(int64_t query, int64_t width, int64_t dilation, BitRow& row) {
    const int64_t reach = (width - 1) * dilation;
    row.setEvery(query - reach, query + reach + 1, dilation);
}

void seeGlobals(int64_t query, int64_t globals, BitRow& row) {
    row.setRange(0, query < globals ? row.size() : globals);
}

} // namespace

const Part kWindowMask{
    .id = "window",
    .slot = Slot::Mask,
    .title = "Local window",
    .idea = "A query sees the keys near it. Through several layers, information still crosses the whole text, w-1 "
            "tokens further with each layer.",
    .formula = "|i-j| < w",
    .source = kLongformer,
    .params = kWindowParams,
    .time = "O(T w D)",
    .memory = "O(T w)",
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                const int64_t width = call.integer("w");
                row.setRange(query - width + 1, query + width);
            },
        .band =
            [](PartValues values) {
                const int64_t width = values.integer("w");
                return MaskBand{width - 1, width - 1};
            },
        .windowWidth = kWidth.id,
    }};

const Part kDilatedMask{
    .id = "dilated",
    .slot = Slot::Mask,
    .title = "Dilated window",
    .idea = "A window with gaps: it skips d-1 keys between two that it sees. It reaches d times as far for the same "
            "work.",
    .formula = "|i-j| < w·d and (i-j) mod d = 0",
    .source = kLongformer,
    .params = kDilatedParams,
    .time = "O(T w D)",
    .memory = "O(T w)",
    .mask = {
        .row = [](const MaskCall& call, int64_t query,
                  BitRow& row) { seeWindow(query, call.integer("w"), call.integer("d"), row); },
        .windowWidth = kWidth.id,
    }};

const Part kGlobalMask{
    .id = "global",
    .slot = Slot::Mask,
    .title = "Global tokens",
    .idea = "The first g tokens see everything and are seen by all. They gather information from the whole text and "
            "pass it on, so two steps link any two tokens.",
    .formula = "i < g or j < g",
    .source = kLongformer,
    .params = kGlobalParams,
    .time = "O(T g D)",
    .memory = "O(T g)",
    .mask = {
        .row = [](const MaskCall& call, int64_t query, BitRow& row) { seeGlobals(query, call.integer("g"), row); },
    }};

const Part kLongformerMask{
    .id = "longformer",
    .slot = Slot::Mask,
    .title = "Longformer",
    .idea = "Combines a window for near tokens, dilated if d is above 1, with a few global tokens for the task. The "
            "work grows with the text's length, not with its square.",
    .formula = "dilated(w,d) | global(g)",
    .source = kLongformer,
    .params = kLongformerParams,
    .time = "O(T (w + g) D)",
    .memory = "O(T (w + g))",
    .mask = {
        .row =
            [](const MaskCall& call, int64_t query, BitRow& row) {
                seeWindow(query, call.integer("w"), call.integer("d"), row);
                seeGlobals(query, call.integer("g"), row);
            },
        .windowWidth = kWidth.id,
    }};

} // namespace attn
