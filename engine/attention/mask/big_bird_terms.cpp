#include "engine/attention/mask/mask_call.h"
#include "engine/attention/mask/term_params.h"
#include "engine/attention/parts.h"
#include "engine/core/rng.h"

#include <algorithm>
#include <array>

namespace attn {
namespace {

constexpr std::array kRandomParams{wholeNumber("r", "Random keys", "Keys drawn for each query", 0, 3), kSeedParam};
constexpr std::array kBigBirdParams{
    wholeNumber("b", "Block", "Tokens in a block", 1, 2),
    Param{"w", "Window", "Blocks in the window, with the query's own in the middle", Param::Kind::Integer, 1,
          kLongestMask - 1, 2, 3},
    wholeNumber("g", "Global blocks", "The first g blocks see everything and are seen by all", 0, 1),
    wholeNumber("r", "Random blocks", "Blocks drawn for each query block, outside the window and the global blocks", 0,
                1),
    kSeedParam,
};

/// Sets `count` of the first `population` bits of an empty row, every choice equally likely; all of them if there are
/// no more. @param row of at least `population` bits
/// @source Bentley and Floyd 1987, "Programming pearls: a sample of brilliance", Communications of the ACM 30(9)
void setSample(BitRow& row, int64_t population, int64_t count, uint64_t seed, int64_t stream) {
    count = std::min(count, population);
    for (int64_t last = population - count; last < population; ++last) {
        const auto words = philox({static_cast<uint32_t>(last), static_cast<uint32_t>(stream), 0, 0},
                                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
        const auto drawn = static_cast<int64_t>(uint64_t{words[0]} * static_cast<uint64_t>(last + 1) >> 32);
        row.set(row.test(drawn) ? last : drawn);
    }
}

void seeBigBird(const MaskCall& call, int64_t query, BitRow& row) {
    const int64_t length = call.integer("b"), side = (call.integer("w") - 1) / 2, globals = call.integer("g");
    const int64_t own = query / length, blocks = (call.keys() + length - 1) / length;
    if (own < globals) {
        row.setRange(0, call.keys());
        return;
    }
    const int64_t windowBegin = std::max(own - side, globals), windowEnd = own + side + 1;
    row.setRange(0, globals * length);
    row.setRange(windowBegin * length, windowEnd * length);

    // Blocks are drawn from those between the globals and the window, then from those after the window.
    const int64_t between = std::clamp<int64_t>(blocks - globals, 0, windowBegin - globals);
    const int64_t free = between + std::max<int64_t>(blocks - windowEnd, 0);
    BitRow drawn(free);
    setSample(drawn, free, call.integer("r"), call.values.seed(), own);
    drawn.forEach([&](int64_t place) {
        const int64_t block = place < between ? globals + place : windowEnd + place - between;
        row.setRange(block * length, (block + 1) * length);
    });
}

} // namespace

const Part kRandomMask{
    .id = "random",
    .slot = Slot::Mask,
    .title = "Random keys",
    .idea = "Every query sees r keys drawn at random, the same ones for the same seed. A random graph links any two "
            "tokens in a few steps.",
    .formula = "j is one of r keys drawn for i",
    .source = {"Zaheer et al.", 2020, "Big Bird: Transformers for Longer Sequences", "section 2", "arXiv:2007.14062"},
    .params = kRandomParams,
    .time = "O(T r D)",
    .memory = "O(T r)",
    .mask = {.row = [](const MaskCall& call, int64_t query,
                       BitRow& row) { setSample(row, call.keys(), call.integer("r"), call.values.seed(), query); }},
    .isRandom = true,
};

const Part kBigBirdMask{
    .id = "bigbird",
    .slot = Slot::Mask,
    .title = "BigBird",
    .idea = "Works with blocks instead of tokens: each block sees a window of w blocks, g global blocks and r random "
            "blocks elsewhere. With the global blocks it can express whatever full attention can.",
    .formula = "p = ⌊i/b⌋, q = ⌊j/b⌋: p < g or q < g or |p-q| ≤ (w-1)/2 or q is one of r drawn for p",
    .source = {"Zaheer et al.", 2020, "Big Bird: Transformers for Longer Sequences", "section 2 and appendix D",
               "arXiv:2007.14062"},
    .params = kBigBirdParams,
    .time = "O(T (w + g + r) b D)",
    .memory = "O(T (w + g + r) b)",
    .mask = {.row = seeBigBird},
    .isRandom = true,
};

} // namespace attn
