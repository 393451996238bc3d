#pragma once

#include "app/scope/picture_pipeline.h"
#include "app/scope/swapchain.h"
#include "engine/gpu/timeline.h"

#include <functional>
#include <optional>
#include <vector>

namespace attn::scope {

/// Pixels read back from the window: rows from top to bottom, each pixel red, green, blue.
struct Screenshot {
    int width = 0, height = 0;
    std::vector<uint8_t> rgb;
    const uint8_t* at(int x, int y) const {
        return &rgb[(static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3];
    }
};

/// Draws frames into a window, one in flight.
class Renderer {
public:
    Renderer(gpu::Context& context, VkSurfaceKHR surface);

    VkRenderPass renderPass() const { return swapchain_.renderPass(); }
    uint32_t smallestImageCount() const { return swapchain_.smallestImageCount(); }

    using Overlay = std::function<void(VkCommandBuffer)>; ///< records inside the render pass, above the pictures
    /// Draws a frame.
    /// @return false if nothing was drawn, because the window has just changed or has no area
    bool draw(Window::Size size, std::span<const Picture> pictures, const Overlay& overlay);
    /// Draws a frame and reads the window's pixels back. @throws Error if the display does not allow it
    std::optional<Screenshot> drawAndRead(Window::Size size, std::span<const Picture> pictures, const Overlay& overlay);
    void setLight(bool isLight) { isLight_ = isLight; } ///< the background of the pictures
    /// Waits for the last frame. After that the engine may write the buffers that the frame read.
    void finishFrame() { timeline_.wait(timeline_.submitted()); }

private:
    void record(VkCommandBuffer commands, const Swapchain::Target& target, std::span<const Picture> pictures,
                const Overlay& overlay);
    void recordRead(VkCommandBuffer commands, const Swapchain::Target& target, const gpu::Buffer& into);
    void submit(const Swapchain::Target& target);

    gpu::Context& context_;
    Swapchain swapchain_;
    PicturePipeline pipeline_;
    bool isLight_ = false;
    gpu::CommandBuffer commands_;
    gpu::Timeline timeline_; // destroyed first: waits for the frame
};

} // namespace attn::scope
