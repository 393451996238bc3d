#include "engine/playground/position_lab.h"
#include "engine/attention/catalogue.h"
#include "tests/support/catch.h"

using namespace attn;

namespace {

PositionPictures pictures(const std::string& spec, int64_t tokens = 24) {
    return positionPictures({.spec = AttentionSpec::parse(spec), .tokens = tokens, .width = 8});
}

} // namespace

TEST_CASE("position lab: every position of the catalogue that acts has a picture of what it does", "[session]") {
    for (const Part* part : partCatalogue()) {
        if (part->slot != Slot::Position) continue;
        INFO(part->id);
        AttentionSpec spec;
        spec.set(Slot::Position, part->id);
        const PositionPictures shown = positionPictures({.spec = spec, .tokens = 16, .width = 8});
        CHECK(shown.similarity.columns == 16);
        bool varies = false;
        for (const float value : shown.similarity.values) {
            REQUIRE(std::isfinite(value));
            varies |= std::abs(value - shown.similarity.values.front()) > 1e-4f;
        }
        CHECK(varies == !part->hooks.empty()); // "none" knows no distance
    }
}

TEST_CASE("position lab: sinusoidal encodings are sines and cosines of the place", "[session]") {
    const PositionPictures shown = pictures("position=sinusoidal");
    REQUIRE(shown.encodings);
    CHECK(shown.encodings->rows == 24);
    CHECK(shown.encodings->values[5 * 8] == Approx(std::sin(5.0)));
    CHECK(shown.encodings->values[5 * 8 + 1] == Approx(std::cos(5.0)));
    CHECK_FALSE(shown.added);
    // A step turns a pair by the same angle wherever it begins: f(t + 1) = R f(t).
    REQUIRE(shown.planes.size() == 4);
    for (const auto& plane : shown.planes) {
        const double angle = std::atan2(plane.y[1], plane.x[1]);
        for (size_t t = 0; t + 1 < plane.x.size(); ++t) {
            CHECK(plane.x[t + 1] == Approx(std::cos(angle) * plane.x[t] - std::sin(angle) * plane.y[t]).margin(1e-5));
            CHECK(plane.y[t + 1] == Approx(std::sin(angle) * plane.x[t] + std::cos(angle) * plane.y[t]).margin(1e-5));
        }
    }
    CHECK(pictures("position=learned").planes.empty());
}

TEST_CASE("position lab: RoPE turns pairs of features, whichever they are, and keeps their length", "[session]") {
    const bool isInterleaved = GENERATE(false, true);
    const PositionPictures shown = pictures(isInterleaved ? "position=rope(interleaved = 1)" : "position=rope");
    REQUIRE(shown.planes.size() == 4);
    const auto& plane = shown.planes.front();
    CHECK(plane.first == 0);
    CHECK(plane.second == (isInterleaved ? 1 : 4));
    for (size_t i = 0; i < plane.x.size(); ++i) {
        CHECK(plane.x[i] == Approx(std::cos(static_cast<double>(i))).margin(1e-6));
        CHECK(std::hypot(plane.x[i], plane.y[i]) == Approx(1));
    }
}

TEST_CASE("position lab: ALiBi adds a straight line whose slope halves from head to head", "[session]") {
    const PositionPictures shown = pictures("heads=multi_head(8), position=alibi, mask=causal");
    REQUIRE(shown.added);
    CHECK(shown.added->at(0)[10] == Approx(-5));
    REQUIRE(shown.slopes.size() == 8);
    for (size_t h = 0; h < 8; ++h) CHECK(shown.slopes[h] == Approx(-std::exp2(-static_cast<double>(h + 1))));
    CHECK_FALSE(shown.factor);
}

TEST_CASE("position lab: what multiplies scores is a factor, and learned tables have no slope", "[session]") {
    const PositionPictures aware = pictures("position=distance_aware");
    CHECK_FALSE(aware.added);
    REQUIRE(aware.factor);
    CHECK(aware.factor->values[0] == Approx(1));
    const PositionPictures t5 = pictures("position=t5, mask=causal");
    REQUIRE(t5.added);
    CHECK(t5.slopes.empty());
}
