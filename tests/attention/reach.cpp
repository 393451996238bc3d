#include "engine/core/error.h"
#include "engine/playground/mask_reach.h"
#include "tests/attention/mask_pictures.h"
#include "tests/attention/random_masks.h"

using namespace attn;
using namespace attn::test;

namespace {

/// By boolean matrices: R_l = R_{l-1} or M_l R_{l-1}, from the lowest layer upwards.
std::vector<int> reachByMatrices(const RandomMask& mask, int64_t tokens, int64_t query, int layers) {
    const auto n = static_cast<size_t>(tokens);
    std::vector<std::vector<bool>> reached(n, std::vector<bool>(n));
    for (size_t i = 0; i < n; ++i) reached[i][i] = true;
    std::vector<int> first(n, -1);
    for (int layer = 0; layer <= layers; ++layer) {
        for (size_t j = 0; j < n; ++j)
            if (reached[static_cast<size_t>(query)][j] && first[j] < 0) first[j] = layer;
        auto next = reached;
        for (size_t i = 0; i < n; ++i)
            for (size_t k = 0; k < n; ++k)
                if (mask.sees(static_cast<int64_t>(i), static_cast<int64_t>(k), 1, layer))
                    for (size_t j = 0; j < n; ++j) next[i][j] = next[i][j] || reached[k][j];
        reached = std::move(next);
    }
    return first;
}

std::vector<int> reach(const char* text, int64_t tokens, int64_t query, int layers) {
    return layersToReach(MaskExpression::parse(text), square(tokens), query, layers);
}

} // namespace

TEST_CASE("reach: windows widen by w-1 tokens a layer, globals join any two tokens in two", "[attention]") {
    CHECK(reach("causal & window(3)", 8, 7, 2) == std::vector<int>{-1, -1, -1, 2, 2, 1, 1, 0});
    CHECK(reach("window(2)", 5, 2, 9) == std::vector<int>{2, 1, 0, 1, 2});
    CHECK(reach("window(1) | global(1)", 5, 4, 3) == std::vector<int>{1, 2, 2, 2, 0});
    CHECK(reach("full", 3, 1, 1) == std::vector<int>{1, 0, 1});
    CHECK(reach("full", 3, 1, 0) == std::vector<int>{-1, 0, -1});
    CHECK(reach("~full", 3, 1, 5) == std::vector<int>{-1, 0, -1});
}

TEST_CASE("reach: with masks that change from layer to layer the lowest layer comes first", "[attention]") {
    // Rows first, then columns: the corner sees its row with one layer, everything with two.
    CHECK(reach("per_layer(row(2, 2), column(2, 2))", 4, 0, 2) == std::vector<int>{0, 1, 2, 2});
    CHECK(reach("per_layer(column(2, 2), row(2, 2))", 4, 0, 2) == std::vector<int>{0, 2, 1, 2});
    // The top layer looks at token 1, the one below it at token 2 from there; the other way round there is no way.
    CHECK(reach("per_layer(painted(3, 5, 1), painted(3, 1, 1))", 3, 0, 2) == std::vector<int>{0, 2, 2});
    CHECK(reach("per_layer(painted(3, 1, 1), painted(3, 5, 1))", 3, 0, 2) == std::vector<int>{0, 1, -1});
}

TEST_CASE("reach: of a picture that is written, the causal axial mask never sees above and to the right",
          "[attention]") {
    // The first token, which names the picture, and 3 x 3 pixels; the query is the middle one.
    CHECK(reach("causal & axial(3, 3, 1)", 10, 5, 9) == std::vector<int>{1, 2, 1, -1, 1, 0, -1, -1, -1, -1});
    CHECK(reach("causal & (strided(3) | global(1))", 10, 5, 9) == std::vector<int>{1, 2, 1, 1, 1, 0, -1, -1, -1, -1});
}

TEST_CASE("reach: random masks agree with boolean matrix powers", "[attention]") {
    std::mt19937 draws(11);
    for (int round = 0; round < 150; ++round) {
        const RandomMask mask = randomMask(draws, 4);
        CAPTURE(mask.text);
        const int64_t tokens = 1 + static_cast<int64_t>(draws() % 24), query = static_cast<int64_t>(draws()) % tokens;
        CHECK(layersToReach(MaskExpression::parse(mask.text),
                            {.queries = tokens, .keys = tokens, .head = 1, .heads = 2}, query,
                            5) == reachByMatrices(mask, tokens, query, 5));
    }
}

TEST_CASE("reach: layers need as many keys as queries", "[attention]") {
    CHECK_THROWS_WITH(layersToReach(MaskExpression(), {.queries = 3, .keys = 4}, 0, 2),
                      CONTAINS("as many keys as queries, not 3 queries and 4 keys"));
}
