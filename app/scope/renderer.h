#pragma once

#include "app/scope/picture_pipeline.h"
#include "app/scope/swapchain.h"
#include "engine/gpu/timeline.h"

#include <functional>
#include <optional>
#include <vector>

namespace attn::scope {

/// Pixels read back from the window: rows from the top, red, green, blue.
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

    using Overlay = std::function<void(VkCommandBuffer)>; ///< records inside the render pass, over the pictures
    /// @return false if the window changed just now or has no area: nothing was drawn
    bool draw(Window::Size size, std::span<const Picture> pictures, const Overlay& overlay);
    /// As draw, then reads the window's pixels back. @throws Error if the display does not allow it
    std::optional<Screenshot> drawAndRead(Window::Size size, std::span<const Picture> pictures, const Overlay& overlay);
    void setLight(bool isLight) { isLight_ = isLight; } ///< the page behind the pictures
    /// Nothing of the last frame runs any more: the engine may write what it read.
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
    gpu::Timeline timeline_; // ends first: waits for the frame
};

} // namespace attn::scope
