#pragma once

#include "app/scope/window.h"
#include "engine/gpu/context.h"

struct ImFont;

namespace attn::scope {

/// Dear ImGui on the scope's window and device. Only this class depends on the installed version (1.86 or later).
class Gui {
public:
    Gui(const Window& window, gpu::Context& context, VkRenderPass renderPass, uint32_t imageCount);
    ~Gui();
    Gui(const Gui&) = delete;
    Gui& operator=(const Gui&) = delete;

    float scale() const { return scale_; } ///< of the screen that the fonts were made for
    /// Takes effect with the next frame.
    void setLook(bool isLight, bool isLarge);
    bool wantsText() const; ///< keys go to a text field
    /// Starts a frame. Widgets may be made until endFrame().
    void beginFrame();
    void endFrame();
    /// Records the drawing of the last frame, inside the render pass.
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
