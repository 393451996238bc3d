#include "tests/scope/scope_window.h"

using namespace attn;
using namespace attn::scope;

namespace {

/// Keys that followed an earlier occurrence of the query's letter: where the induction head looks.
bool isInductionCell(const std::string& text, int query, int key) {
    return key <= query && text[static_cast<size_t>(std::max(key - 1, 0))] == text[static_cast<size_t>(query)];
}

} // namespace

TEST_CASE("scope: the induction head's cells are bright, the others dark, the masked ones grey", "[scope][gpu]") {
    const std::string text = "qwertyuiopqwert"; // no letter twice before the repetition
    ScopeWindow window({.prompt = text, .site = 1, .head = 0, .width = 700, .height = 600});
    const Screenshot picture = window.picture();
    REQUIRE(picture.width == 700);
    REQUIRE(picture.height == 600);
    for (int query = 10; query < 15; ++query)
        for (int key = 0; key < 15; ++key) {
            INFO("query " << query << " key " << key);
            const auto colour = window.colourOf(picture, {query, key});
            if (key > query) {
                CHECK(colour.isNear({28, 30, 36}));
                continue;
            }
            // The first letter precedes itself as far as layer 0 can see: two keys share its row.
            const bool isBright = isInductionCell(text, query, key);
            CHECK(colour.isNear(!isBright ? kZero : query == 10 ? kHalf : kOne));
        }
}

TEST_CASE("scope: arrows change layer and head, and the picture with them", "[scope][gpu]") {
    ScopeWindow window({.prompt = "qwertyuiopqwert", .site = 1, .head = 0, .width = 700, .height = 600});
    const Cell induction{12, 3}, previous{12, 11}, own{12, 12};
    CHECK(window.colourOf(window.picture(), induction).isNear(kOne));

    window.press("Up"); // layer 0, head 0: the previous letter
    CHECK(window.scope().subject().layer() == 0);
    Screenshot picture = window.picture();
    CHECK(window.colourOf(picture, induction).isNear(kZero));
    CHECK(window.colourOf(picture, previous).isNear(kOne));

    window.press("Right"); // layer 0, head 1: itself
    CHECK(window.scope().subject().head() == 1);
    picture = window.picture();
    CHECK(window.colourOf(picture, previous).isNear(kZero));
    CHECK(window.colourOf(picture, own).isNear(kOne));

    window.press("Right"); // there is no further head
    CHECK(window.scope().subject().head() == 1);
    window.press("Down");
    window.press("Left");
    CHECK(window.scope().subject().layer() == 1);
    CHECK(window.scope().subject().head() == 0);
    CHECK(window.colourOf(window.picture(), induction).isNear(kOne));
}

TEST_CASE("scope: space writes a token, whose row appears, and Backspace goes back", "[scope][gpu]") {
    ScopeWindow window({.prompt = "qwertyuiopqwert", .site = 1, .head = 0, .width = 700, .height = 600});
    CHECK(window.scope().model().next().find("y") != std::string::npos);
    window.press("space");
    REQUIRE(window.scope().model().tokenCount() == 16);
    CHECK(window.scope().model().labels().back() == "y");
    CHECK_FALSE(window.colourOf(window.picture(), {15, 5}).isNear(kZero)); // the new row glows
    CHECK(window.colourOf(window.picture(), {14, 6}).isNear(kZero));
    REQUIRE(window.drawUntil([&] { return !window.scope().isRefining(); })); // and fades
    CHECK(window.colourOf(window.picture(), {15, 6}).isNear(kOne));          // y was followed by u
    CHECK(window.colourOf(window.picture(), {15, 5}).isNear(kZero));
    window.press("BackSpace");
    CHECK(window.scope().model().tokenCount() == 15);
    CHECK(window.scope().model().next().find("y") != std::string::npos);
    CHECK(window.colourOf(window.picture(), {12, 3}).isNear(kOne));
}

TEST_CASE("scope: a full context is said in a sentence", "[scope][gpu]") {
    ScopeWindow window({.prompt = std::string(127, 'a'), .width = 500, .height = 400});
    window.press("space");
    CHECK(window.scope().model().tokenCount() == 128);
    CHECK(window.scope().model().notice().empty());
    window.press("space");
    CHECK(window.scope().model().tokenCount() == 128);
    CHECK(window.scope().model().notice().find("128 tokens is full") != std::string::npos);
    window.press("BackSpace");
    CHECK(window.scope().model().notice().empty());
}

TEST_CASE("scope: the wheel zooms about the pointer and dragging pans", "[scope][gpu]") {
    ScopeWindow window(
        {.prompt = "the quick fox jumps the quick fox jumps", .site = 1, .head = 0, .width = 700, .height = 660});
    const PatternView& view = window.plot().view();
    const Cell cell{36, 17}; // m was followed by p; away from the sides, where zooming holds the pattern to the edge
    window.pointAt(cell);
    const float before = view.cellSize(), x = view.left() + 17.5f * before;
    window.turnWheel(3);
    CHECK(view.cellSize() > 1.5f * before);
    CHECK(view.left() + 17.5f * view.cellSize() == Approx(x).margin(2)); // the pointer stands on whole pixels
    CHECK(window.colourOf(window.picture(), cell).isNear(kOne));
    const float left = view.left(), top = view.top();
    window.drag(20, 30);
    CHECK(view.left() == Approx(left + 20).margin(1));
    CHECK(view.top() == Approx(top + 30).margin(1));
    window.press("0");
    CHECK(view.isFitted());
}

TEST_CASE("scope: pointing at a cell reads its probability and leaves the picture", "[scope][gpu]") {
    ScopeWindow window({.prompt = "qwertyuiopqwert", .site = 1, .head = 0, .width = 700, .height = 600});
    window.pointAt({14, 5});
    CHECK(window.plot().hovered() == Cell{14, 5});
    const Screenshot picture = window.picture();
    CHECK(window.colourOf(picture, {12, 3}).isNear(kOne));
    CHECK(window.colourOf(picture, {5, 5}).isNear(window.colourOf(picture, {5, 0}))); // an even row
}

TEST_CASE("scope: lifting shows faint cells", "[scope][gpu]") {
    ScopeWindow window(
        {.prompt = "qwer", .site = 1, .head = 1, .width = 500, .height = 400}); // every key alike: 1/4 in row 3
    const auto plain = window.colourOf(window.picture(), {3, 1});
    window.press("b");
    CHECK_FALSE(window.colourOf(window.picture(), {3, 1}).isNear(plain));
    CHECK(window.colourOf(window.picture(), {3, 1}).isNear(kHalf));
}

TEST_CASE("scope: follows its window's size, down to very small", "[scope][gpu]") {
    ScopeWindow window({.prompt = "qwertyuiopqwert", .site = 1, .head = 0, .width = 700, .height = 600});
    for (const auto& [width, height] : {std::pair{900, 420}, {240, 200}, {200, 160}, {640, 560}}) {
        INFO(width << "x" << height);
        glfwSetWindowSize(window.scope().window().handle(), width, height);
        REQUIRE(window.drawUntil(
            [&, wanted = Window::Size{width, height}] { return window.scope().window().framebufferSize() == wanted; }));
        const Screenshot picture = window.picture();
        CHECK(picture.width == width);
        CHECK(picture.height == height);
        if (width > 200) CHECK(window.colourOf(picture, {12, 3}).isNear(kOne));
    }
}

TEST_CASE("scope: full screen and back", "[scope][gpu]") {
    ScopeWindow window({.prompt = "qwertyuiopqwert", .site = 1, .head = 0, .width = 700, .height = 600});
    window.press("f");
    REQUIRE(window.drawUntil([&] { return window.scope().window().framebufferSize().width > 700; }));
    CHECK(window.colourOf(window.picture(), {12, 3}).isNear(kOne));
    window.press("f");
    CHECK(window.drawUntil([&] { return window.scope().window().framebufferSize() == Window::Size{700, 600}; }));
    window.press("Escape");
    CHECK(window.scope().wantsToClose());
}

TEST_CASE("scope: a window without an area is not drawn", "[scope][gpu]") {
    const DisplayConnection& display = testDisplay();
    Window window(display, 300, 200);
    gpu::Context context({.validation = true,
                          .instanceExtensions = display.instanceExtensions(),
                          .deviceExtensions = {VK_KHR_SWAPCHAIN_EXTENSION_NAME}});
    const Surface surface(context.instance(), window);
    Renderer renderer(context, surface.get());
    const auto nothing = [](VkCommandBuffer) {};
    CHECK_FALSE(renderer.draw({}, {}, nothing));
    CHECK(renderer.draw({300, 200}, {}, nothing));
    CHECK_FALSE(renderer.draw({}, {}, nothing));
    CHECK(renderer.draw({300, 200}, {}, nothing));
    CHECK(context.validationMessages().empty());
}
