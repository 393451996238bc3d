#pragma once

#include "engine/gpu/context.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace attn::scope {

/// A rectangle in framebuffer pixels.
struct PixelRect {
    int x = 0, y = 0, width = 0, height = 0;
    bool isEmpty() const { return width <= 0 || height <= 0; }
    PixelRect within(const PixelRect& other) const;
    bool operator==(const PixelRect&) const = default;
};

/// Floats on the device that show a part of a matrix: `rows` by `columns` pixels stand for the cells from rowBegin to
/// rowEnd and from columnBegin to columnEnd.
struct DevicePixels {
    VkBuffer buffer = VK_NULL_HANDLE;
    uint64_t byteOffset = 0, byteSize = 0;
    int rowStride = 0; ///< in floats
    int rows = 0, columns = 0;
    int rowBegin = 0, rowEnd = 0, columnBegin = 0, columnEnd = 0;
};

/// A matrix and the way it is drawn.
struct Picture {
    DevicePixels pixels;
    PixelRect plot;                 ///< nothing is drawn outside
    float originX = 0, originY = 0; ///< of row 0, column 0, in framebuffer pixels
    float cellWidth = 1, cellHeight = 1;
    float exponent = 1;      ///< applied to values between low and high before colouring
    float low = 0, high = 1; ///< values of the darkest and the brightest colour
    bool isSigned = false;   ///< diverging colours about the middle of low and high
    bool isCausal = false;
    int window = 0;              ///< number of previous keys that a query sees; 0: all
    int newest = -1;             ///< the newest row; -1: no row glows
    std::array<float, 4> glow{}; ///< of that row and the three before it, from 0 to 1
    bool isLight = false;        ///< uses the light theme
    PixelRect legend;            ///< a bar of the colours; empty: none
};

/// Draws matrices from the buffers that the engine computed them into.
class PicturePipeline {
public:
    PicturePipeline(gpu::Context& context, VkRenderPass renderPass);

    /// Makes the engine's results readable. Call this outside a render pass, when no earlier draw commands run.
    void prepare(VkCommandBuffer commands, std::span<const Picture> pictures);
    /// Draws the prepared pictures, inside the render pass.
    void draw(VkCommandBuffer commands, std::span<const Picture> pictures) const;

private:
    struct Push;
    void makeLayouts();
    void makePipeline(uint32_t variant);
    void makeSets(uint32_t count);
    void bind(std::span<const Picture> pictures);
    void drawRect(VkCommandBuffer commands, const PixelRect& rect, const Push& push) const;

    gpu::Context& context_;
    VkRenderPass renderPass_;
    gpu::Owned<VkDescriptorSetLayout, vkDestroyDescriptorSetLayout> setLayout_;
    gpu::Owned<VkPipelineLayout, vkDestroyPipelineLayout> layout_;
    std::vector<gpu::Owned<VkPipeline, vkDestroyPipeline>> pipelines_; ///< by variant, created on first use
    gpu::Owned<VkDescriptorPool, vkDestroyDescriptorPool> pool_;
    std::vector<VkDescriptorSet> sets_;
    struct Place {
        size_t set = 0;
        uint32_t firstFloat = 0; ///< of the matrix within the bound range
    };
    std::vector<Place> places_; ///< by picture
};

} // namespace attn::scope
