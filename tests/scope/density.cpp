#include "tests/scope/scope_window.h"

#include <imgui.h>

#include <dlfcn.h>

struct GLFWwindow;

using namespace attn;
using namespace attn::scope;

namespace {

float density = 0; ///< what the screen is said to have; 0: what it has

} // namespace

// Stands before GLFW's own, which it calls.
extern "C" void glfwGetWindowContentScale(GLFWwindow* window, float* x, float* y) {
    static const auto real =
        reinterpret_cast<void (*)(GLFWwindow*, float*, float*)>(dlsym(RTLD_NEXT, "glfwGetWindowContentScale"));
    real(window, x, y);
    if (density == 0) return;
    if (x) *x = density;
    if (y) *y = density;
}

TEST_CASE("density: a window that is moved to a finer screen draws larger type, and its picture stays",
          "[scope][gpu]") {
    ScopeWindow window({.prompt = "qwertyuiopqwert", .site = 1, .head = 0, .width = 900, .height = 700});
    CHECK(window.colourOf(window.picture(), {12, 3}).isNear(kOne));
    const float before = ImGui::GetFontSize();
    density = 2;
    CHECK(window.colourOf(window.picture(), {12, 3}).isNear(kOne));
    CHECK(ImGui::GetFontSize() > 1.5f * before);
    window.press("Up"); // keys still come
    CHECK(window.scope().subject().layer() == 0);
    density = 0;
    CHECK(window.colourOf(window.picture(), {12, 11}).isNear(kOne));
    CHECK(ImGui::GetFontSize() == before);
}
