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

/// Floats on the device that show a part of a matrix: `rows` times `columns` of them stand for the cells from rowBegin
/// to rowEnd and columnBegin to columnEnd.
struct DevicePixels {
    VkBuffer buffer = VK_NULL_HANDLE;
    uint64_t byteOffset = 0, byteSize = 0;
    int rowStride = 0; ///< in floats
    int rows = 0, columns = 0;
    int rowBegin = 0, rowEnd = 0, columnBegin = 0, columnEnd = 0;
};

/// A matrix as it is to appear.
struct Picture {
    DevicePixels pixels;
    PixelRect plot;                 ///< nothing is drawn outside
    float originX = 0, originY = 0; ///< of row 0, column 0, in framebuffer pixels
    float cellWidth = 1, cellHeight = 1;
    float exponent = 1;      ///< of the value between low and high before colouring
    float low = 0, high = 1; ///< values of the darkest and the brightest colour
    bool isSigned = false;   ///< colours that part at the middle of low and high
    bool isCausal = false;
    int window = 0;              ///< keys that a query sees back; 0: all
    int newest = -1;             ///< row that was written last; -1: none glows
    std::array<float, 4> glow{}; ///< of that row and the three before it, from 0 to 1
    bool isLight = false;        ///< on a light page
    PixelRect legend;            ///< a bar of the colours; empty: none
};

/// Draws matrices from the buffers that the engine computed them into.
class PicturePipeline {
public:
    PicturePipeline(gpu::Context& context, VkRenderPass renderPass);

    /// Outside a render pass: what the engine wrote becomes readable. No commands that drew before may still run.
    void prepare(VkCommandBuffer commands, std::span<const Picture> pictures);
    /// Inside the render pass, of the pictures that were prepared.
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
    std::vector<gpu::Owned<VkPipeline, vkDestroyPipeline>> pipelines_; ///< by variant, made when first needed
    gpu::Owned<VkDescriptorPool, vkDestroyDescriptorPool> pool_;
    std::vector<VkDescriptorSet> sets_;
    struct Place {
        size_t set = 0;
        uint32_t firstFloat = 0; ///< of the matrix within the bound range
    };
    std::vector<Place> places_; ///< by picture
};

} // namespace attn::scope
