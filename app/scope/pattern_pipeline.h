#pragma once

#include "engine/session/language_model.h"

#include <array>
#include <cstdint>

namespace attn::scope {

/// A rectangle in framebuffer pixels.
struct PixelRect {
    int x = 0, y = 0, width = 0, height = 0;
    bool isEmpty() const { return width <= 0 || height <= 0; }
};

/// One attention pattern as it is to appear.
struct PatternPicture {
    LanguageModel::DevicePattern pattern;
    PixelRect plot;                 ///< nothing is drawn outside
    float originX = 0, originY = 0; ///< of query 0, key 0, in framebuffer pixels
    float cellSize = 1;             ///< framebuffer pixels
    float exponent = 1;             ///< of the probability before colouring
    float largest = 1;              ///< probability of the brightest colour
    bool isCausal = true;
    int window = 0;   ///< keys that a query sees back; 0: all
    PixelRect legend; ///< a bar of the colours; empty: none
};

/// Draws a pattern from the buffer that the engine computed it into.
class PatternPipeline {
public:
    PatternPipeline(gpu::Context& context, VkRenderPass renderPass);

    /// Outside a render pass: what the engine wrote becomes readable. No commands that were bound to before may still
    /// run.
    void prepare(VkCommandBuffer commands, const PatternPicture& picture);
    /// Inside the render pass.
    void draw(VkCommandBuffer commands, const PatternPicture& picture) const;

private:
    struct Push;
    void makeLayouts();
    void makePipeline(VkRenderPass renderPass);
    void bindPattern(const LanguageModel::DevicePattern& pattern);
    void drawRect(VkCommandBuffer commands, const PixelRect& rect, const Push& push) const;

    gpu::Context& context_;
    gpu::Owned<VkDescriptorSetLayout, vkDestroyDescriptorSetLayout> setLayout_;
    gpu::Owned<VkPipelineLayout, vkDestroyPipelineLayout> layout_;
    gpu::Owned<VkPipeline, vkDestroyPipeline> pipeline_;
    gpu::Owned<VkDescriptorPool, vkDestroyDescriptorPool> pool_;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
    std::array<uint64_t, 3> bound_{}; ///< buffer, offset and size that set_ holds
    uint32_t firstFloat_ = 0;         ///< of the pattern within the bound range
};

} // namespace attn::scope
