#include "tests/scope/scope_window.h"

using namespace attn;
using namespace attn::scope;

namespace {

const LongPatternPicture& pictureOf(ScopeWindow& window) {
    const auto& page = dynamic_cast<PatternPage&>(*window.scope().page().view());
    return dynamic_cast<const LongPattern&>(page.source()).picture();
}

/// Until nothing becomes better any more.
bool settles(ScopeWindow& window) {
    return window.drawUntil([&] { return !window.scope().isRefining() && pictureOf(window).isWhole(); });
}

} // namespace

TEST_CASE("scope: a long pattern is coarse at once, becomes exact, and zooms to single cells", "[scope][gpu]") {
    Options options{.head = 1, .width = 700, .height = 600};
    options.random = {6000, 2, 16};
    ScopeWindow window(options);
    REQUIRE(settles(window));
    const LongPatternRegion fitted = pictureOf(window).view;
    CHECK(fitted.head == 1);
    CHECK(fitted.level == 3); // some 500 pixels
    CHECK(window.scope().page().view()->facts().find("8 × 8 cells per pixel") != std::string::npos);
    Screenshot picture = window.picture();
    CHECK(window.colourOf(picture, {2000, 4000}).isNear({28, 30, 36})); // a key that comes later
    CHECK_FALSE(window.colourOf(picture, {20, 4}).isNear({28, 30, 36}));

    window.pointAt({24, 24}); // within the plot, whatever the pointer is rounded to
    window.turnWheel(22);
    window.drag(300, 300); // to the corner
    REQUIRE(settles(window));
    CHECK(pictureOf(window).view.level == 0);
    CHECK(pictureOf(window).view.row == 0);
    picture = window.picture();
    CHECK(window.colourOf(picture, {0, 0}).isNear(kOne)); // sees itself alone
    CHECK(window.colourOf(picture, {0, 1}).isNear({28, 30, 36}));
    CHECK_FALSE(window.colourOf(picture, {60, 3}).isNear(kOne)); // one of sixty

    window.drag(-200, -200);
    REQUIRE(settles(window));
    CHECK(pictureOf(window).view.row > 0);
    window.press("Left"); // another head, where this one was looked at
    REQUIRE(settles(window));
    CHECK(pictureOf(window).view.head == 0);
    window.press("0");
    REQUIRE(settles(window));
    CHECK(pictureOf(window).view.level == fitted.level);
}
