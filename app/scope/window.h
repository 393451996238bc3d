#pragma once

#include "engine/gpu/vulkan.h"

#include <string>
#include <vector>

struct GLFWwindow;

namespace attn::scope {

/// The connection to the display, through GLFW. Create one per process, before any window, on the main thread.
class DisplayConnection {
public:
    /// @throws Error without a display or a Vulkan driver
    DisplayConnection();
    ~DisplayConnection();
    DisplayConnection(const DisplayConnection&) = delete;
    DisplayConnection& operator=(const DisplayConnection&) = delete;

    /// The instance extensions for drawing into a window. @throws Error if no driver supports it
    std::vector<const char*> instanceExtensions() const;
};

/// A window that Vulkan draws into.
class Window {
public:
    Window(const DisplayConnection& display, int width, int height);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    GLFWwindow* handle() const { return window_; }
    bool wantsToClose() const;
    void close();
    void setTitle(const std::string& title);

    struct Size {
        int width = 0, height = 0;
        bool isEmpty() const { return width <= 0 || height <= 0; }
        bool operator==(const Size&) const = default;
    };
    Size framebufferSize() const; ///< empty while minimised
    float contentScale() const;   ///< 2 on a screen with high pixel density

    void toggleFullScreen();
    bool isFullScreen() const;
    void pollEvents();
    void waitForEvents();
    /// GLFW key codes that were pressed or repeated since the last call.
    std::vector<int> takeKeys();

private:
    GLFWwindow* window_ = nullptr;
    std::vector<int> keys_;
    int x_ = 0, y_ = 0; ///< where the window was before full screen
    Size size_;
};

/// The Vulkan surface of a window. Destroy it before its window and its instance.
class Surface {
public:
    Surface(VkInstance instance, const Window& window);
    ~Surface();
    Surface(const Surface&) = delete;
    Surface& operator=(const Surface&) = delete;

    VkSurfaceKHR get() const { return surface_; }

private:
    VkInstance instance_;
    VkSurfaceKHR surface_ = VK_NULL_HANDLE;
};

} // namespace attn::scope
