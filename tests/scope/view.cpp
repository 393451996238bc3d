#include "app/scope/model_subject.h"
#include "app/scope/options.h"
#include "app/scope/pattern_view.h"
#include "tests/support/catch.h"

using namespace attn::scope;

TEST_CASE("view: a fitted pattern shows whole and in the middle", "[scope]") {
    PatternView view;
    view.place(100, 50, 400, 200, 20, 64);
    CHECK(view.cellSize() == 10);
    CHECK(view.left() == 200);
    CHECK(view.top() == 50);
    CHECK(view.cellAt(200, 50) == Cell{0, 0});
    CHECK(view.cellAt(399, 249) == Cell{19, 19});
    CHECK_FALSE(view.cellAt(199, 60));
    CHECK(view.visibleKeys() == std::pair{0, 20});
    view.place(100, 50, 400, 200, 2, 64); // cells grow only so large
    CHECK(view.cellSize() == 64);
}

TEST_CASE("view: zooming keeps the point, panning stays inside, zooming out fits again", "[scope]") {
    PatternView view;
    view.place(0, 0, 200, 200, 100, 64);
    view.zoom(10, 50, 150);
    CHECK(view.cellSize() == 20);
    CHECK(view.cellAt(50, 150) == Cell{75, 25});
    CHECK(view.visibleKeys() == std::pair{22, 33});
    view.pan(1e6f, 1e6f);
    CHECK(view.left() == 0);
    CHECK(view.top() == 0);
    view.pan(-1e6f, -1e6f);
    CHECK(view.cellAt(199, 199) == Cell{99, 99});
    view.zoom(1e6f, 0, 0);
    CHECK(view.cellSize() == 256);
    view.place(0, 0, 2000, 2000, 4, 64); // zoomed further than the pattern is large: stands in the middle
    CHECK(view.left() == 488);
    view.zoom(1e-6f, 0, 0);
    CHECK(view.isFitted());
}

TEST_CASE("view: cells of a matrix may be higher than wide", "[scope]") {
    PatternView view;
    view.place(0, 0, 400, 300, 3, 100, 20, 64);
    CHECK(view.cellSize() == 4);
    CHECK(view.cellHeight() == 80);
    CHECK(view.top() == 30);
    CHECK(view.cellAt(399, 269) == Cell{2, 99});
    CHECK_FALSE(view.cellAt(10, 10));
    view.zoom(2, 200, 150);
    CHECK(view.cellAt(200, 150) == Cell{1, 50});
    CHECK(view.visibleQueries() == std::pair{0, 3});
    CHECK(view.visibleKeys() == std::pair{25, 75});
}

TEST_CASE("view: labels show what is written, on one line", "[scope]") {
    CHECK(tokenLabel(" the", 14) == "␣the");
    CHECK(tokenLabel("a b ", 14) == "a b␣");
    CHECK(tokenLabel("\n\t\x01", 14) == "↵⇥␁");
    CHECK(tokenLabel("äöü漢字", 5) == "äöü漢字");
    CHECK(tokenLabel("äöü漢字", 3) == "äöü…");
    CHECK(tokenLabel("", 3).empty());
}

TEST_CASE("options: what is left out has defaults, what is wrong is said", "[scope]") {
    const auto options = [](std::vector<std::string> arguments) {
        return std::get<Options>(parseOptions(std::move(arguments)));
    };
    CHECK(options({}) == Options{});
    const Options all = options(
        {"--layer", "1", "--size", "640x480", "--tokens", "1,2", "models/x", "--head", "3", "--screenshot", "a.png"});
    CHECK(all == Options{.path = "models/x",
                         .tokens = "1,2",
                         .site = 1,
                         .head = 3,
                         .frames = 3,
                         .screenshot = "a.png",
                         .width = 640,
                         .height = 480});

    const auto message = [](std::vector<std::string> arguments) {
        return std::get<Message>(parseOptions(std::move(arguments)));
    };
    CHECK(message({"--help"}).exitCode == 0);
    CHECK(message({"--version"}).text.find("attention-scope") == 0);
    for (const char* size : {"640", "640x", "10x10", "640x480x2", "99999x400", "wide"}) {
        INFO(size);
        CHECK(message({"--size", size}).exitCode == 2);
        CHECK(message({"--size", size}).text.find("--size") != std::string::npos);
    }
    CHECK(message({"--prompt", "a", "--tokens", "1"}).exitCode == 2);
    CHECK(message({"--frames", "0"}).exitCode == 2);
    CHECK(message({"--view", "nothing"}).exitCode == 2);
    CHECK(message({"--view", "nothing"}).text.find("timeline") != std::string::npos);
    CHECK(options({"--view", "grid", "--light"}) == Options{.view = "grid", .isLight = true});
    CHECK(options({"--view", "long-pattern"}) == Options{.view = "long-pattern"});
    CHECK(options({"--view", "lens"}) == Options{.view = "lens"}); // its old name
}
