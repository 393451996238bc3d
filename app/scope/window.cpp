#include "app/scope/window.h"

#include "engine/core/error.h"

#include <GLFW/glfw3.h>

#include <algorithm>
#include <utility>

namespace attn::scope {
namespace {

constexpr int kSmallestWidth = 200, kSmallestHeight = 160;

std::string lastError() {
    const char* text = nullptr;
    glfwGetError(&text);
    return text != nullptr ? text : "GLFW gives no reason";
}

/// The screen that contains the window's centre, or the first one if the window's position is unknown (Wayland).
GLFWmonitor* screenOf(int x, int y) {
    int count = 0;
    GLFWmonitor** monitors = glfwGetMonitors(&count);
    for (int i = 0; i < count; ++i) {
        int left = 0, top = 0;
        glfwGetMonitorPos(monitors[i], &left, &top);
        const GLFWvidmode* mode = glfwGetVideoMode(monitors[i]);
        if (mode != nullptr && x >= left && y >= top && x < left + mode->width && y < top + mode->height)
            return monitors[i];
    }
    return glfwGetPrimaryMonitor();
}

} // namespace

DisplayConnection::DisplayConnection() {
    if (glfwInit() != GLFW_TRUE)
        throw Error({.what = "no display could be opened: " + lastError(),
                     .where = {},
                     .hint = "start it in a desktop session (DISPLAY or WAYLAND_DISPLAY set), or use attention-cli "
                             "render, which needs none"});
    if (glfwVulkanSupported() != GLFW_TRUE) {
        const std::string reason = lastError();
        glfwTerminate();
        throw Error({.what = "found no Vulkan driver that can draw into windows: " + reason,
                     .where = {},
                     .hint = "install one, for example the package mesa-vulkan-drivers"});
    }
}

DisplayConnection::~DisplayConnection() { glfwTerminate(); }

std::vector<const char*> DisplayConnection::instanceExtensions() const {
    uint32_t count = 0;
    const char** names = glfwGetRequiredInstanceExtensions(&count);
    if (names == nullptr)
        throw Error({.what = "no Vulkan driver can draw on this display: " + lastError(),
                     .where = {},
                     .hint = "install or update a driver, for example mesa-vulkan-drivers"});
    return {names, names + count};
}

Window::Window(const DisplayConnection&, int width, int height) {
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    glfwWindowHintString(GLFW_X11_CLASS_NAME, "attention-scope");
    glfwWindowHintString(GLFW_X11_INSTANCE_NAME, "attention-scope");
    if (GLFWmonitor* monitor = glfwGetPrimaryMonitor()) {
        int left = 0, top = 0, most = 0, tallest = 0;
        glfwGetMonitorWorkarea(monitor, &left, &top, &most, &tallest);
        width = std::min(width, std::max(most, kSmallestWidth));
        height = std::min(height, std::max(tallest, kSmallestHeight));
    }
    window_ = glfwCreateWindow(width, height, "Attention Scope", nullptr, nullptr);
    if (window_ == nullptr)
        throw Error(
            {.what = "the window could not be opened: " + lastError(), .where = {}, .hint = "try a smaller --size"});
    glfwSetWindowSizeLimits(window_, kSmallestWidth, kSmallestHeight, GLFW_DONT_CARE, GLFW_DONT_CARE);
    glfwSetWindowUserPointer(window_, this);
    glfwSetKeyCallback(window_, [](GLFWwindow* window, int key, int, int action, int) {
        if (action != GLFW_RELEASE) static_cast<Window*>(glfwGetWindowUserPointer(window))->keys_.push_back(key);
    });
}

Window::~Window() { glfwDestroyWindow(window_); }

bool Window::wantsToClose() const { return glfwWindowShouldClose(window_) == GLFW_TRUE; }
void Window::close() { glfwSetWindowShouldClose(window_, GLFW_TRUE); }
void Window::setTitle(const std::string& title) { glfwSetWindowTitle(window_, title.c_str()); }

Window::Size Window::framebufferSize() const {
    if (glfwGetWindowAttrib(window_, GLFW_ICONIFIED) == GLFW_TRUE) return {};
    Size size;
    glfwGetFramebufferSize(window_, &size.width, &size.height);
    return size;
}

float Window::contentScale() const {
    float x = 1, y = 1;
    glfwGetWindowContentScale(window_, &x, &y);
    return std::clamp(std::max(x, y), 0.5f, 8.0f);
}

void Window::toggleFullScreen() {
    if (glfwGetWindowMonitor(window_) != nullptr) {
        glfwSetWindowMonitor(window_, nullptr, x_, y_, size_.width, size_.height, GLFW_DONT_CARE);
        return;
    }
    glfwGetWindowPos(window_, &x_, &y_);
    glfwGetWindowSize(window_, &size_.width, &size_.height);
    GLFWmonitor* monitor = screenOf(x_ + size_.width / 2, y_ + size_.height / 2);
    const GLFWvidmode* mode = monitor != nullptr ? glfwGetVideoMode(monitor) : nullptr;
    if (mode != nullptr) glfwSetWindowMonitor(window_, monitor, 0, 0, mode->width, mode->height, mode->refreshRate);
}

bool Window::isFullScreen() const { return glfwGetWindowMonitor(window_) != nullptr; }

void Window::pollEvents() { glfwPollEvents(); }
void Window::waitForEvents() { glfwWaitEvents(); }
std::vector<int> Window::takeKeys() { return std::exchange(keys_, {}); }

Surface::Surface(VkInstance instance, const Window& window) : instance_(instance) {
    gpu::check(glfwCreateWindowSurface(instance, window.handle(), nullptr, &surface_), "glfwCreateWindowSurface",
               "window");
}

Surface::~Surface() { vkDestroySurfaceKHR(instance_, surface_, nullptr); }

} // namespace attn::scope
