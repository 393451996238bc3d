#pragma once

#include "app/scope/window.h"
#include "engine/core/error.h"
#include "engine/gpu/context.h"

#include <optional>
#include <vector>

namespace attn::scope {

/// Thrown when the window's surface is lost and must be created again, for example after the display server restarted.
class SurfaceLost : public Error {
public:
    using Error::Error;
};

/// The images of a window. Rebuilds itself when the window's size or screen changes. Presents on the context's queue.
class Swapchain {
public:
    /// @throws Error if the device cannot present to the surface
    Swapchain(gpu::Context& context, VkSurfaceKHR surface);
    ~Swapchain();
    Swapchain(const Swapchain&) = delete;
    Swapchain& operator=(const Swapchain&) = delete;

    /// The render pass. It clears to the background colour and leaves the image ready to present. Its format never
    /// changes.
    VkRenderPass renderPass() const { return renderPass_.get(); }
    VkFormat format() const { return format_.format; }
    uint32_t smallestImageCount() const { return smallestImageCount_; }
    bool canBeRead() const { return canBeRead_; } ///< images can be copied

    struct Target {
        uint32_t index;
        VkImage image;
        VkFramebuffer framebuffer;
        VkExtent2D extent;
        VkSemaphore acquired; ///< wait for it before drawing
        VkSemaphore drawn;    ///< signal it after
    };
    /// The next image to draw. All work on the last image must have finished.
    /// @return empty if the window has no area or has just changed; try again in the next frame
    /// @throws SurfaceLost
    std::optional<Target> acquire(Window::Size size);
    void present(const Target& target); ///< @throws SurfaceLost

private:
    struct Image {
        VkImage image;
        gpu::Owned<VkImageView, vkDestroyImageView> view;
        gpu::Owned<VkFramebuffer, vkDestroyFramebuffer> framebuffer;
        gpu::Owned<VkSemaphore, vkDestroySemaphore> drawn;
    };
    void chooseFormat();
    void makeRenderPass();
    bool rebuild(Window::Size size);
    void addImage(VkImage image);
    gpu::Owned<VkSemaphore, vkDestroySemaphore> makeSemaphore(const char* name);
    void waitIdle();

    gpu::Context& context_;
    VkSurfaceKHR surface_;
    VkSurfaceFormatKHR format_{};
    uint32_t smallestImageCount_ = 2;
    bool canBeRead_ = false;
    gpu::Owned<VkRenderPass, vkDestroyRenderPass> renderPass_;
    gpu::Owned<VkSwapchainKHR, vkDestroySwapchainKHR> swapchain_;
    gpu::Owned<VkSemaphore, vkDestroySemaphore> acquired_;
    std::vector<Image> images_;
    VkExtent2D extent_{};
    Window::Size builtFor_;
    bool isStale_ = true;
};

} // namespace attn::scope
