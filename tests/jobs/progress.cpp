#include "engine/jobs/progress.h"
#include "tests/support/catch.h"

#include <cmath>

using namespace attn;

TEST_CASE("progress: the time that is left follows the measured rate", "[jobs]") {
    RemainingTime remaining;
    CHECK_FALSE(remaining.after(0.1, 5));                 // no rate is known yet
    CHECK(remaining.after(0.2, 7).value() == Approx(16)); // 0.8 at 0.05 a second
    CHECK(remaining.after(0.3, 9).value() == Approx(14));
    CHECK(remaining.after(1, 23).value() == Approx(0));
}

TEST_CASE("progress: a piece that was quick by chance does not decide", "[jobs]") {
    RemainingTime remaining;
    remaining.after(0, 0);
    CHECK(remaining.after(0.01, 0.001).value() == Approx(0.099));
    CHECK(remaining.after(0.02, 1.001).value() == Approx(0.98 * 1.001 / 0.02)); // at the mean rate
}

TEST_CASE("progress: of long work, what was twenty seconds ago counts half", "[jobs]") {
    RemainingTime remaining;
    remaining.after(0, 0);
    remaining.after(0.4, 40);                                        // 0.01 a second
    CHECK(remaining.after(0.5, 60).value() == Approx(0.5 / 0.0075)); // then half as fast
}

TEST_CASE("progress: work that stands or begins again has no time of its own", "[jobs]") {
    RemainingTime remaining;
    remaining.after(0.5, 10);
    CHECK_FALSE(remaining.after(0.5, 10)); // no time has gone by
    CHECK_FALSE(remaining.after(0.5, 20)); // nothing was done
    CHECK(remaining.after(0.6, 21).has_value());
    CHECK_FALSE(remaining.after(0.1, 22)); // it has begun again
    CHECK(remaining.after(0.2, 23).value() == Approx(8));
}

TEST_CASE("progress: it is said in steps or as a share, with the time that is left", "[jobs]") {
    CHECK(progressText({}).empty());
    CHECK(progressText({.fraction = 0.426, .sentence = "blocks.3.mlp"}) == "blocks.3.mlp · 42 %");
    Progress steps = ofSteps(12, 400);
    CHECK(steps.fraction == Approx(0.03));
    steps.secondsLeft = 200;
    CHECK(progressText(steps) == "step 12 of 400 · 3 min left");
    CHECK(timeText(0.2) == "1 s");
    CHECK(timeText(89) == "89 s");
    CHECK(timeText(95) == "2 min");
    CHECK(timeText(7800) == "2 h 10 min");
}
