#include "engine/session/cost_session.h"
#include "tests/support/catch.h"

#include <cmath>

using namespace attn;

namespace {

std::shared_ptr<const CostSnapshot> answerTo(CostSession& session, const CostQuery& query) {
    session.ask(query);
    REQUIRE(session.waitIdle(300));
    return session.latest();
}
AttentionSpec specOf(const char* text) { return AttentionSpec::parse(text); }

} // namespace

TEST_CASE("cost: formulas count the pairs, and grow with the length as the mask does", "[session]") {
    CostSession session({});
    const auto found = answerTo(session, {.specs = {specOf("heads=multi_head(2), mask=causal"),
                                                    specOf("heads=multi_head(2), mask=causal & window(64)"),
                                                    specOf("heads=multi_head(2), normaliser=linear, mask=causal")},
                                          .from = 256,
                                          .to = 2048});
    REQUIRE_FALSE(found->failure);
    CHECK_FALSE(found->isRunning);
    CHECK(found->progress == 1);
    REQUIRE(found->costs.size() == 3);
    for (const auto& costs : found->costs) REQUIRE(costs.size() == 4);
    const auto growth = [&](size_t spec, double AttentionCost::*quantity) {
        return found->costs[spec][3].*quantity / found->costs[spec][2].*quantity;
    };
    CHECK(found->costs[0][0].pairs == 2 * 256 * 257 / 2);
    CHECK(growth(0, &AttentionCost::operations) > 3.8);
    CHECK(std::abs(growth(1, &AttentionCost::operations) - 2) < 0.1);
    CHECK(std::abs(growth(1, &AttentionCost::bytes) - 2) < 0.1);
    CHECK(std::abs(growth(2, &AttentionCost::operations) - 2) < 0.1);
    CHECK_FALSE(found->costs[0][0].milliseconds);
}

TEST_CASE("cost: measures on the device, leaves out what would take too long, and can be cancelled", "[session][gpu]") {
    CostSession session({.longestPass = 0});
    const CostQuery query{.specs = {specOf("mask=causal"), specOf("position=sinusoidal_2d(3, 5)")},
                          .from = 64,
                          .to = 256,
                          .measures = true};
    const auto found = answerTo(session, query);
    REQUIRE_FALSE(found->failure);
    CHECK_FALSE(found->device.empty());
    REQUIRE(found->costs[0].size() == 1);
    CHECK(found->costs[0][0].milliseconds > 0.0);
    CHECK(found->remarks[0].find("128 tokens") != std::string::npos);
    CHECK_FALSE(found->remarks[1].empty()); // a grid of 3 x 5 has no place for 64 tokens

    session.ask({.specs = {specOf("mask=causal")}, .from = 64, .to = 1 << 20, .measures = false});
    session.cancel();
    session.ask(query);
    REQUIRE(session.waitIdle(300));
    CHECK(session.latest()->query == query);

    // Cancelled before its thread took it up.
    session.ask({.specs = {specOf("mask=causal")}, .from = 64, .to = 1 << 20, .measures = false});
    session.cancel();
    REQUIRE(session.waitIdle(300));
    CHECK(session.latest()->costs.front().size() < 15);
}
