#pragma once

#include "app/scope/window.h"
#include "engine/gpu/context.h"

namespace attn::scope {

/// Dear ImGui on the scope's window and device: the one place that knows which version of it is installed (1.86 and
/// later).
class Gui {
public:
    Gui(const Window& window, gpu::Context& context, VkRenderPass renderPass, uint32_t imageCount);
    ~Gui();
    Gui(const Gui&) = delete;
    Gui& operator=(const Gui&) = delete;

    /// Widgets may be made between the two.
    void beginFrame();
    void endFrame();
    /// Records what the last frame made. Inside the render pass.
    void record(VkCommandBuffer commands) const;

private:
    void makeFont(float scale);
    void uploadFont();

    gpu::Context& context_;
    gpu::Owned<VkDescriptorPool, vkDestroyDescriptorPool> pool_;
};

} // namespace attn::scope
