#include "app/scope/views/grid_view.h"
#include "tests/scope/scope_window.h"

using namespace attn;
using namespace attn::scope;

namespace {

const Options kInduction{.prompt = "qwertyuiopqwert", .view = "grid", .width = 700, .height = 600};

GridView& gridOf(ScopeWindow& window) { return dynamic_cast<GridView&>(*window.scope().page().view()); }

/// The middle of a cell of a head's picture in the grid.
ScopeWindow::Colour gridColour(ScopeWindow& window, const Screenshot& picture, int layer, int head, const Cell& cell) {
    const Picture& tile =
        window.scope().page().pictures()[static_cast<size_t>(layer * window.scope().subject().heads() + head)];
    const uint8_t* pixel =
        picture.at(static_cast<int>(tile.originX + (static_cast<float>(cell.key) + 0.5f) * tile.cellWidth),
                   static_cast<int>(tile.originY + (static_cast<float>(cell.query) + 0.5f) * tile.cellHeight));
    return {pixel[0], pixel[1], pixel[2]};
}

constexpr ScopeWindow::Colour kMaskedColour{28, 30, 36};

} // namespace

TEST_CASE("grid: every head's pattern is in its place", "[scope][gpu]") {
    ScopeWindow window(kInduction);
    const Screenshot picture = window.picture();
    const Cell induction{12, 3}, previous{12, 11}, own{12, 12}, later{3, 12};
    CHECK(gridColour(window, picture, 1, 0, induction).isNear(kOne));
    CHECK(gridColour(window, picture, 1, 0, own).isNear(kZero));
    CHECK(gridColour(window, picture, 0, 0, previous).isNear(kOne));
    CHECK(gridColour(window, picture, 0, 0, induction).isNear(kZero));
    CHECK(gridColour(window, picture, 0, 1, own).isNear(kOne));
    for (int layer = 0; layer < 2; ++layer)
        for (int head = 0; head < 2; ++head)
            CHECK(gridColour(window, picture, layer, head, later).isNear(kMaskedColour));
}

TEST_CASE("grid: new tokens add rows, a reset takes them away", "[scope][gpu]") {
    ScopeWindow window(kInduction);
    window.press("space");
    window.press("space");
    CHECK(window.scope().subject().tokenCount() == 17);
    REQUIRE(window.drawUntil([&] { return !window.scope().isRefining(); }));
    Screenshot picture = window.picture();
    CHECK(gridColour(window, picture, 1, 0, {16, 7}).isNear(kOne)); // u was followed by i
    CHECK(gridColour(window, picture, 1, 0, {12, 3}).isNear(kOne)); // a row that stayed
    window.press("BackSpace");
    picture = window.picture();
    CHECK(window.scope().subject().tokenCount() == 15);
    CHECK(gridColour(window, picture, 1, 0, {12, 3}).isNear(kOne));
    CHECK(gridColour(window, picture, 0, 0, {14, 13}).isNear(kOne));
}

TEST_CASE("grid: arrows choose, Enter and a click open a head, keys change views", "[scope][gpu]") {
    ScopeWindow window(kInduction);
    window.press("Down");
    window.press("Right");
    window.press("Return");
    CHECK(window.scope().page().shown() == ViewId::Head);
    CHECK(window.scope().subject().layer() == 1);
    CHECK(window.scope().subject().head() == 1);
    window.press("1");
    REQUIRE(window.scope().page().shown() == ViewId::Grid);
    const Area place = gridOf(window).placeOf(1, 0);
    window.click(place.x + place.width / 2, place.y + place.height / 2);
    CHECK(window.scope().page().shown() == ViewId::Head);
    CHECK(window.scope().subject().head() == 0);
    CHECK(window.colourOf(window.picture(), {12, 3}).isNear(kOne));
}

TEST_CASE("grid: more heads than fit are scrolled to", "[scope][gpu]") {
    ScopeWindow window({.prompt = "qwertyuiopqwert", .view = "grid", .width = 220, .height = 200});
    REQUIRE(window.scope().page().view() != nullptr);
    window.press("Down");
    window.press("Right");
    window.picture();
    const Area place = gridOf(window).placeOf(1, 1);
    CHECK(place.width > 0);
}

TEST_CASE("scope: R runs until it is pressed again", "[scope][gpu]") {
    ScopeWindow window(kInduction);
    window.press("r");
    CHECK(window.scope().isRunning());
    REQUIRE(window.drawUntil([&] { return window.scope().subject().tokenCount() >= 30; }));
    window.press("r");
    CHECK_FALSE(window.scope().isRunning());
    const int stopped = window.scope().subject().tokenCount();
    window.picture();
    CHECK(window.scope().subject().tokenCount() == stopped);
    window.press("r"); // to the end of the context, which it says
    REQUIRE(window.drawUntil([&] { return !window.scope().isRunning(); }));
    CHECK(window.scope().subject().tokenCount() == 128);
    CHECK(window.scope().subject().notice().find("128 tokens is full") != std::string::npos);
}

TEST_CASE("long-pattern view: a model's own queries and keys, and tokens as they come", "[scope][gpu]") {
    ScopeWindow window(
        {.prompt = "qwertyuiopqwert", .view = "long-pattern", .site = 1, .head = 0, .width = 700, .height = 600});
    const auto settles = [&] { return window.drawUntil([&] { return !window.scope().isRefining(); }); };
    REQUIRE(settles());
    Screenshot picture = window.picture();
    CHECK(window.colourOf(picture, {12, 3}).isNear(kOne));
    CHECK(window.colourOf(picture, {12, 4}).isNear(kZero));
    CHECK(window.colourOf(picture, {3, 12}).isNear(kMaskedColour));
    window.press("space");
    REQUIRE(settles());
    CHECK(window.colourOf(window.picture(), {15, 6}).isNear(kOne));
    window.press("Up"); // another layer, whose queries and keys are others
    REQUIRE(settles());
    picture = window.picture();
    CHECK(window.colourOf(picture, {12, 11}).isNear(kOne));
    CHECK(window.colourOf(picture, {12, 3}).isNear(kZero));
    window.pointAt({12, 11});
    CHECK(window.plot().hovered() == Cell{12, 11});
}

TEST_CASE("scope: presenting leaves nothing but the picture, and a light page is light", "[scope][gpu]") {
    ScopeWindow window(kInduction);
    window.press("2");
    window.press("p");
    REQUIRE(window.drawUntil([&] { return window.scope().window().framebufferSize().width > 700; }));
    Screenshot picture = window.picture();
    CHECK(window.scope().page().look().isPresenting);
    CHECK(ScopeWindow::Colour{picture.at(3, 3)[0], picture.at(3, 3)[1], picture.at(3, 3)[2]}.isNear({18, 20, 24}));
    window.press("t");
    picture = window.picture();
    CHECK(ScopeWindow::Colour{picture.at(3, 3)[0], picture.at(3, 3)[1], picture.at(3, 3)[2]}.isNear({246, 247, 249}));
    window.press("Escape");
    CHECK_FALSE(window.scope().wantsToClose());
    CHECK_FALSE(window.scope().page().look().isPresenting);
    CHECK(window.drawUntil([&] { return window.scope().window().framebufferSize() == Window::Size{700, 600}; }));
}
