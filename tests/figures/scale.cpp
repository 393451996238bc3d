#include "app/figures/scale.h"

#include "tests/support/catch.h"
#include "tests/support/samples.h"

using namespace attn;

namespace {
size_t at(const PatternTile& tile, int row, int column) { return static_cast<size_t>(row * tile.columns + column); }
} // namespace

TEST_CASE("scale: linear levels are the probabilities and masked cells have none", "[figures]") {
    const PatternTile tile = samples::tile(6);
    const ScaledTile scaled = scaleTile(tile, {});
    for (int query = 0; query < 6; ++query)
        for (int key = 0; key < 6; ++key) {
            CHECK(scaled.values[at(tile, query, key)] == tile.at(query, key));
            CHECK(scaled.levels[at(tile, query, key)] == (key > query ? kNoLevel : tile.at(query, key)));
        }
}

TEST_CASE("scale: a visible weight of zero is not masked", "[figures]") {
    PatternTile tile = samples::tile(3);
    tile.values[at(tile, 2, 0)] = 0;
    CHECK(scaleTile(tile, {}).levels[at(tile, 2, 0)] == 0.0f);
}

TEST_CASE("scale: log maps decades evenly and clamps at its floor", "[figures]") {
    PatternTile tile{.rows = 1,
                     .columns = 4,
                     .queryBegin = 5,
                     .queryEnd = 6,
                     .keyEnd = 4,
                     .values = {1.0f, 0.01f, kLogFloor, 1e-9f}};
    const std::vector<float> levels = scaleTile(tile, {.kind = ScaleKind::Log}).levels;
    CHECK(levels[0] == Approx(1));
    CHECK(levels[1] == Approx(0.5));
    CHECK(levels[2] == Approx(0).margin(1e-6));
    CHECK(levels[3] == Approx(0).margin(1e-6));
}

TEST_CASE("scale: row maximum gives each query's strongest key the full colour", "[figures]") {
    const PatternTile tile = samples::tile(7);
    const ScaledTile scaled = scaleTile(tile, {.kind = ScaleKind::RowMaximum});
    for (int query = 0; query < 7; ++query) CHECK(scaled.levels[at(tile, query, std::max(0, query - 1))] == Approx(1));
}

TEST_CASE("scale: hiding the first token renormalises every row to one", "[figures]") {
    const PatternTile tile = samples::tile(8, 0, 0, 3);
    const ScaledTile scaled = scaleTile(tile, {.hidesFirst = true});
    for (int query = 1; query < 8; ++query) {
        double sum = 0;
        for (int key = 1; key <= query; ++key) sum += static_cast<double>(scaled.values[at(tile, query, key)]);
        CHECK(sum == Approx(1).epsilon(1e-5));
        CHECK(std::isnan(scaled.values[at(tile, query, 0)]));
        CHECK(scaled.levels[at(tile, query, 0)] == kNoLevel);
    }
}

TEST_CASE("scale: a row that is all on the hidden token becomes empty, not NaN", "[figures]") {
    const PatternTile tile{.rows = 2, .columns = 2, .queryEnd = 2, .keyEnd = 2, .values = {1, 0, 1, 0}};
    const ScaledTile scaled = scaleTile(tile, {.hidesFirst = true});
    CHECK(scaled.values[3] == 0.0f);
    CHECK(scaled.levels[3] == 0.0f);
    CHECK(scaled.levels[1] == kNoLevel); // masked as before
}

TEST_CASE("scale: a tile that does not begin at the first key is shown as it is", "[figures]") {
    const PatternTile tile{
        .rows = 1, .columns = 2, .queryBegin = 9, .queryEnd = 10, .keyBegin = 4, .keyEnd = 6, .values = {0.25f, 0.5f}};
    CHECK(scaleTile(tile, {.hidesFirst = true}).values == tile.values);
}

TEST_CASE("scale: a tile that leaves out the first token is not divided again", "[figures]") {
    PatternTile tile{.rows = 1,
                     .columns = 2,
                     .queryBegin = 3,
                     .queryEnd = 4,
                     .keyEnd = 2,
                     .leavesOutFirst = true,
                     .values = {0, 0.5f}};
    const ScaledTile cells = scaleTile(tile, {.hidesFirst = true});
    CHECK(std::isnan(cells.values[0]));
    CHECK(cells.values[1] == 0.5f);
    tile.keyEnd = 4; // keys 1, and 2 and 3
    tile.values = {0.25f, 0.5f};
    CHECK(scaleTile(tile, {.hidesFirst = true}).values == tile.values);
}

TEST_CASE("scale: pixels and tokens are inverse for every division", "[figures]") {
    for (int count : {1, 2, 7, 64, 100, 513})
        for (int pixels = 1; pixels <= std::min(count, 70); ++pixels)
            for (int token = 0; token < count; ++token) {
                const int pixel = tilePixel(token + 3, 3, 3 + count, pixels);
                REQUIRE(tileToken(pixel, 3, 3 + count, pixels) <= token + 3);
                REQUIRE(tileToken(pixel + 1, 3, 3 + count, pixels) > token + 3);
            }
}

TEST_CASE("scale: keys name their kinds, unknown ones fall back to linear", "[figures]") {
    for (const ScaleInfo& info : scaleKinds()) CHECK(scaleFromKey(scaleKey(info.kind)) == info.kind);
    CHECK(scaleFromKey("cubic") == ScaleKind::Linear);
}
