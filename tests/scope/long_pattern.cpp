#include "engine/system/temporary_folder.h"
#include "tests/scope/scope_window.h"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace attn;
using namespace attn::scope;

namespace {

const LongPatternPicture& pictureOf(ScopeWindow& window) {
    const auto& page = dynamic_cast<PatternPage&>(*window.scope().page().view());
    return dynamic_cast<const LongPattern&>(page.source()).picture();
}

/// Copies a small model, whose context is then 8,192 tokens.
void copyLonger(const std::filesystem::path& folder) {
    const std::filesystem::path golden = std::filesystem::path(ATTN_TEST_DIR) / "golden" / "llama_gqa";
    std::filesystem::copy(golden / "model.safetensors", folder);
    std::stringstream text;
    text << std::ifstream(golden / "config.json").rdbuf();
    std::string config = text.str();
    const std::string field = "\"max_position_embeddings\": ";
    config.replace(config.find(field), field.size() + 2, field + "8192"); // it was 48
    std::ofstream(folder / "config.json") << config;
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

TEST_CASE("scope: a text for which the cache grows, and a short one after it, are drawn", "[scope][gpu]") {
    const TemporaryFolder folder;
    copyLonger(folder.path());
    Options options{.tokens = "1,2,3,4,5", .view = "grid", .width = 700, .height = 600};
    options.path = folder.path();
    ScopeWindow window(options);
    ModelSubject& model = window.scope().model();
    const auto show = [&](int count) {
        vkDeviceWaitIdle(window.scope().context().device()); // a frame may still read
        std::vector<int> tokens;
        for (int i = 0; i < count; ++i) tokens.push_back((i * i * 7 + 3 * i + 1) % 71);
        model.setText({.tokens = tokens}, tokens.size());
        for (const char* view : {"1", "2", "3", "6"}) { // all heads, one head, the long pattern, times of a step
            window.press(view);
            window.picture();
        }
        window.press("3");
        REQUIRE(settles(window));
        const LongPatternPicture& picture = pictureOf(window);
        CHECK(((picture.view.row + picture.view.rows) << picture.view.level) >= count);
        CHECK(*std::ranges::max_element(picture.pixels) == Approx(1).margin(1e-5)); // the first token sees itself alone
    };
    show(60);
    CHECK(model.language().cacheRows() == 4096);
    show(4500);
    CHECK(model.language().cacheRows() == 8192);
    vkDeviceWaitIdle(window.scope().context().device());
    model.setText({.tokens = {1, 2, 3}}, 3); // and nothing is drawn before the cache has as much room again
    CHECK(model.language().cacheRows() == 4096);
    show(4500);
    CHECK(model.language().cacheRows() == 8192);
    show(60);
    CHECK(model.language().cacheRows() == 4096);
}
