#include "engine/inference/pattern_divergence.h"
#include "tests/support/catch.h"

namespace attn {
namespace {

PatternTile square(int rows, std::vector<float> values) {
    return {.rows = rows, .columns = rows, .values = std::move(values)};
}

} // namespace

// The sums below are exact in float64 up to the logarithm: 1e-9 is far above its rounding.

TEST_CASE("pattern divergence: equal rows have none, and rows without a common key have one bit", "[inference]") {
    const PatternTile own = square(2, {1, 0, 0.25f, 0.75f});
    CHECK(patternDivergence(own, own, std::vector{0, 1}, std::vector{0, 1}) == Approx(0).margin(1e-9));
    CHECK(patternDivergence(own, square(2, {0, 1, 0.25f, 0.75f}), std::vector{0, 1}, std::vector{0, 1}) ==
          Approx(0.5).margin(1e-9));
    // KL((1,0) | (3/4,1/4)) and KL((1/2,1/2) | (3/4,1/4)), each counted half
    const double expected = (std::log2(4.0 / 3) + 0.5 * std::log2(2.0 / 3) + 0.5 * std::log2(2.0)) / 2;
    CHECK(jensenShannonBits(std::vector{1.0, 0.0}, std::vector{0.5, 0.5}) == Approx(expected).margin(1e-9));
}

TEST_CASE("pattern divergence: only matched tokens count, with their rows scaled to one", "[inference]") {
    const PatternTile a = square(3, {1, 0, 0, 0.5f, 0.5f, 0, 0.2f, 0.2f, 0.6f}); // its token 1 has no match in b
    const PatternTile b = square(2, {1, 0, 0.25f, 0.75f});                       // tokens 0 and 2 of a
    CHECK(patternDivergence(a, b, std::vector{0, -1, 1}, std::vector{0, -1, 1}) ==
          Approx(0).margin(1e-7)); // 0.2 and 0.6 are floats
    CHECK(patternDivergence(a, b, std::vector{-1, -1, -1}, std::vector{-1, -1, -1}) == 0);
    CHECK(patternDivergence(square(1, {0}), square(1, {1}), std::vector{0}, std::vector{0}) ==
          0); // a row without weight
}

TEST_CASE("pattern divergence: heads of two pictures compare token by token, or not at all", "[inference]") {
    // Two tokens and two heads; the second head of b looks elsewhere from its first token.
    const SitePattern a{.layout = {.tokens = 2, .tokenOf = {0, 1}}, .heads = 2, .values = {1, 0, 0, 1, 1, 0, 0, 1}};
    SitePattern b = a;
    b.values[4] = 0;
    b.values[5] = 1;
    CHECK(patternDivergence(a, b, 0) == 0.0);
    CHECK(patternDivergence(a, b, 1).value() == Approx(0.5).margin(1e-9));
    CHECK_FALSE(patternDivergence(a, b, 2)); // no such head
    b.layout.tokenOf = {1, 0};               // other patches in its tokens
    CHECK_FALSE(patternDivergence(a, b, 0));
    CHECK_FALSE(patternDivergence(a, SitePattern{.layout = a.layout, .heads = 2, .values = {}}, 0));
    // Windows of one place: each token sees itself.
    const WindowLayout windows{.windows = 2, .side = 1, .order = {1, 0}, .places = {1, 0}, .regions = {0, 0}};
    const SitePattern c{.layout = {.tokens = 2, .tokenOf = {0, 1}, .windows = windows}, .heads = 1, .values = {1, 1}};
    CHECK(patternDivergence(c, c, 0) == 0.0);
    CHECK_FALSE(patternDivergence(a, c, 0));
}

} // namespace attn
