#pragma once

#include "app/scope/window.h"
#include "engine/gpu/context.h"

struct ImFont;

namespace attn::scope {

/// Dear ImGui on the scope's window and device: the one place that knows which version of it is installed (1.86 and
/// later).
class Gui {
public:
    Gui(const Window& window, gpu::Context& context, VkRenderPass renderPass, uint32_t imageCount);
    ~Gui();
    Gui(const Gui&) = delete;
    Gui& operator=(const Gui&) = delete;

    float scale() const { return scale_; } ///< of the screen that it was made for
    /// Takes effect with the next frame.
    void setLook(bool isLight, bool isLarge);
    bool wantsText() const; ///< keys go to a field
    /// Widgets may be made between the two.
    void beginFrame();
    void endFrame();
    /// Records what the last frame made. Inside the render pass.
    void record(VkCommandBuffer commands) const;

private:
    void makeFonts(float scale);
    void uploadFont();

    gpu::Context& context_;
    float scale_;
    ImFont *plain_ = nullptr, *large_ = nullptr;
    gpu::Owned<VkDescriptorPool, vkDestroyDescriptorPool> pool_;
};

} // namespace attn::scope
