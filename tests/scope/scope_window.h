#pragma once

#include "app/scope/scope.h"
#include "app/scope/views/pattern_views.h"
#include "tests/support/catch.h"

#include <GLFW/glfw3.h>

namespace attn::scope {

/// Held until the tests end: an X server that loses its last client starts over, and refuses new ones meanwhile.
const DisplayConnection& testDisplay();

/// The real window on the built-in example, with keys and mouse from outside (xdotool). Validation errors fail the
/// test.
class ScopeWindow {
public:
    explicit ScopeWindow(Options options);
    ~ScopeWindow();

    Scope& scope() { return scope_; }
    /// Of the head or the lens. @throws std::bad_cast when another view shows
    const PatternPlot& plot() const { return dynamic_cast<PatternPage&>(*scope_.page().view()).plot(); }
    /// Draws a few frames and reads the last one back.
    Screenshot picture();
    /// Draws frames until the condition holds. @return false after a time that no machine needs
    bool drawUntil(const std::function<bool()>& condition, int seconds = 120);
    /// Presses a key, named as by xdotool ("Right", "space"), and draws.
    void press(const std::string& key);
    /// Points at the middle of a cell and draws.
    void pointAt(const Cell& cell);
    /// Points at a place of the window, in Dear ImGui's units, and presses the mouse's left button.
    void click(float x, float y);
    void turnWheel(int clicks); ///< positive: zooms in
    void drag(int dx, int dy);

    struct Colour {
        int red = 0, green = 0, blue = 0;
        /// To a few steps of 255.
        bool isNear(const Colour& other) const;
    };
    /// The middle of a cell, as drawn.
    Colour colourOf(const Screenshot& picture, const Cell& cell) const;

private:
    void drawSome();
    void send(const std::string& arguments);

    mutable Scope scope_; // its views are made when they are asked for
};

/// Viridis at 0, 1/2 and 1 (matplotlib's table).
inline constexpr ScopeWindow::Colour kZero{68, 1, 84}, kHalf{33, 145, 140}, kOne{253, 231, 37};

} // namespace attn::scope
