#include "tests/scope/scope_window.h"

#include <fmt/format.h>

namespace attn::scope {
namespace {

Options validated(Options options) {
    options.validation = true;
    return options;
}

} // namespace

const DisplayConnection& testDisplay() {
    static const DisplayConnection display;
    return display;
}

ScopeWindow::ScopeWindow(Options options) : scope_(testDisplay(), validated(std::move(options))) {
    send("mousemove 2000 2000"); // to a corner: a tooltip where the last test pointed would cover cells
    // The focus of a new window comes in its own time; keys go nowhere before.
    drawUntil([this] { return glfwGetWindowAttrib(scope_.window().handle(), GLFW_FOCUSED) == GLFW_TRUE; }, 30);
    drawSome();
}

ScopeWindow::~ScopeWindow() { CHECK(scope_.context().validationMessages().empty()); }

void ScopeWindow::drawSome() {
    for (int i = 0; i < 4; ++i) scope_.drawFrame();
}

Screenshot ScopeWindow::picture() {
    std::optional<Screenshot> shot;
    drawSome();
    REQUIRE(drawUntil([&] { return (shot = scope_.drawAndRead()).has_value(); }));
    return std::move(*shot);
}

bool ScopeWindow::drawUntil(const std::function<bool()>& condition, int seconds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        scope_.drawFrame();
    }
    return true;
}

void ScopeWindow::send(const std::string& arguments) {
    const std::string command = "xdotool " + arguments;
    INFO(command);
    REQUIRE(std::system(command.c_str()) == 0);
    drawSome();
}

void ScopeWindow::press(const std::string& key) { send("key " + key); }

void ScopeWindow::pointAt(const Cell& cell) {
    const PatternView& view = plot().view();
    int left = 0, top = 0;
    glfwGetWindowPos(scope_.window().handle(), &left, &top);
    const float x = view.left() + (static_cast<float>(cell.key) + 0.5f) * view.cellSize(),
                y = view.top() + (static_cast<float>(cell.query) + 0.5f) * view.cellSize();
    send(fmt::format("mousemove {} {}", left + static_cast<int>(x), top + static_cast<int>(y)));
}

void ScopeWindow::click(float x, float y) {
    int left = 0, top = 0;
    glfwGetWindowPos(scope_.window().handle(), &left, &top);
    send(fmt::format("mousemove {} {}", left + static_cast<int>(x), top + static_cast<int>(y)));
    send("mousedown 1");
    send("mouseup 1");
}

void ScopeWindow::turnWheel(int clicks) {
    send(fmt::format("click --repeat {} --delay 20 {}", std::abs(clicks), clicks > 0 ? 4 : 5));
}

void ScopeWindow::drag(int dx, int dy) {
    send("mousedown 1");
    send(fmt::format("mousemove_relative -- {} {}", dx, dy));
    send("mouseup 1");
}

bool ScopeWindow::Colour::isNear(const Colour& other) const {
    constexpr int kSteps = 5; // the fit of degree 6 to the table
    return std::abs(red - other.red) <= kSteps && std::abs(green - other.green) <= kSteps &&
           std::abs(blue - other.blue) <= kSteps;
}

ScopeWindow::Colour ScopeWindow::colourOf(const Screenshot& picture, const Cell& cell) const {
    const Picture& place = plot().picture();
    const auto middle = [&](float origin, int index) {
        return static_cast<int>(origin + (static_cast<float>(index) + 0.5f) * place.cellWidth);
    };
    const uint8_t* pixel = picture.at(middle(place.originX, cell.key), middle(place.originY, cell.query));
    return {pixel[0], pixel[1], pixel[2]};
}

} // namespace attn::scope
