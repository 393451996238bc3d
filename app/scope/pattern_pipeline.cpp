#include "app/scope/pattern_pipeline.h"

#include "engine/core/error.h"
#include "shaders/embedded_shaders.h"

#include <algorithm>
#include <string>

namespace attn::scope {

/// Mirrors the push constants of shaders/scope/pattern.frag.
struct PatternPipeline::Push {
    float originX, originY;
    float cellSize, exponent;
    uint32_t first, rowStride, rows, columns;
    uint32_t queryBegin, queryEnd, keyBegin, keyEnd;
    uint32_t window, flags;
    float largest;
};

namespace {

constexpr uint32_t kCausal = 1, kLegend = 2;

gpu::Owned<VkShaderModule, vkDestroyShaderModule> loadShader(gpu::Context& context, std::string_view name) {
    const auto shaders = embeddedShaders();
    const auto found = std::ranges::find(shaders, name, &EmbeddedShader::name);
    if (found == shaders.end())
        throw Error({.what = "a shader is missing from this build",
                     .where = std::string(name),
                     .hint = "build the program again"});
    VkShaderModuleCreateInfo create{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    create.codeSize = found->spirv.size_bytes();
    create.pCode = found->spirv.data();
    VkShaderModule module = VK_NULL_HANDLE;
    gpu::check(vkCreateShaderModule(context.device(), &create, nullptr, &module), "vkCreateShaderModule", name);
    return {context.device(), module};
}

} // namespace

PatternPipeline::PatternPipeline(gpu::Context& context, VkRenderPass renderPass) : context_(context) {
    makeLayouts();
    makePipeline(renderPass);
}

void PatternPipeline::makeLayouts() {
    VkDevice device = context_.device();
    const VkDescriptorSetLayoutBinding binding{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_FRAGMENT_BIT,
                                               nullptr};
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = 1;
    set.pBindings = &binding;
    VkDescriptorSetLayout setLayout = VK_NULL_HANDLE;
    gpu::check(vkCreateDescriptorSetLayout(device, &set, nullptr, &setLayout), "vkCreateDescriptorSetLayout",
               "scope/pattern");
    setLayout_ = {device, setLayout};

    const VkPushConstantRange push{VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof(Push)};
    VkPipelineLayoutCreateInfo create{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    create.setLayoutCount = 1;
    create.pSetLayouts = &setLayout;
    create.pushConstantRangeCount = 1;
    create.pPushConstantRanges = &push;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    gpu::check(vkCreatePipelineLayout(device, &create, nullptr, &layout), "vkCreatePipelineLayout", "scope/pattern");
    layout_ = {device, layout};

    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    VkDescriptorPool made = VK_NULL_HANDLE;
    gpu::check(vkCreateDescriptorPool(device, &pool, nullptr, &made), "vkCreateDescriptorPool", "scope/pattern");
    pool_ = {device, made};
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = made;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &setLayout;
    gpu::check(vkAllocateDescriptorSets(device, &allocate, &set_), "vkAllocateDescriptorSets", "scope/pattern");
}

void PatternPipeline::makePipeline(VkRenderPass renderPass) {
    const auto vertex = loadShader(context_, "scope/pattern.vert"),
               fragment = loadShader(context_, "scope/pattern.frag");
    VkPipelineShaderStageCreateInfo stages[2]{{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO},
                                              {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO}};
    stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
    stages[0].module = vertex.get();
    stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[1].module = fragment.get();
    stages[0].pName = stages[1].pName = "main";
    const VkPipelineVertexInputStateCreateInfo noVertices{VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo triangles{VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
    triangles.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    VkPipelineViewportStateCreateInfo viewport{VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    viewport.viewportCount = viewport.scissorCount = 1;
    VkPipelineRasterizationStateCreateInfo fill{VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
    fill.lineWidth = 1;
    VkPipelineMultisampleStateCreateInfo samples{VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
    samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
    VkPipelineColorBlendAttachmentState opaque{};
    opaque.colorWriteMask =
        VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT;
    VkPipelineColorBlendStateCreateInfo blend{VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
    blend.attachmentCount = 1;
    blend.pAttachments = &opaque;
    const VkDynamicState dynamic[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkPipelineDynamicStateCreateInfo dynamics{VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO};
    dynamics.dynamicStateCount = 2;
    dynamics.pDynamicStates = dynamic;
    VkGraphicsPipelineCreateInfo create{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
    create.stageCount = 2;
    create.pStages = stages;
    create.pVertexInputState = &noVertices;
    create.pInputAssemblyState = &triangles;
    create.pViewportState = &viewport;
    create.pRasterizationState = &fill;
    create.pMultisampleState = &samples;
    create.pColorBlendState = &blend;
    create.pDynamicState = &dynamics;
    create.layout = layout_.get();
    create.renderPass = renderPass;
    VkPipeline pipeline = VK_NULL_HANDLE;
    gpu::check(vkCreateGraphicsPipelines(context_.device(), VK_NULL_HANDLE, 1, &create, nullptr, &pipeline),
               "vkCreateGraphicsPipelines", "scope/pattern");
    pipeline_ = {context_.device(), pipeline};
    context_.setName(VK_OBJECT_TYPE_PIPELINE, pipeline, "scope/pattern");
}

void PatternPipeline::bindPattern(const LanguageModel::DevicePattern& pattern) {
    const uint64_t alignment = std::max<uint64_t>(context_.traits().minStorageBufferOffsetAlignment, 4);
    const uint64_t begin = pattern.byteOffset / alignment * alignment,
                   size = pattern.byteOffset + pattern.byteSize - begin;
    firstFloat_ = static_cast<uint32_t>((pattern.byteOffset - begin) / sizeof(float));
    const std::array<uint64_t, 3> wanted{reinterpret_cast<uint64_t>(pattern.buffer), begin, size};
    if (wanted == bound_) return;
    bound_ = wanted;
    const VkDescriptorBufferInfo range{pattern.buffer, begin, size};
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set_;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &range;
    vkUpdateDescriptorSets(context_.device(), 1, &write, 0, nullptr);
}

void PatternPipeline::prepare(VkCommandBuffer commands, const PatternPicture& picture) {
    bindPattern(picture.pattern);
    VkMemoryBarrier written{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    written.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    written.dstAccessMask = VK_ACCESS_SHADER_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, 0, 1,
                         &written, 0, nullptr, 0, nullptr);
}

void PatternPipeline::drawRect(VkCommandBuffer commands, const PixelRect& rect, const Push& push) const {
    if (rect.isEmpty()) return;
    const VkViewport viewport{static_cast<float>(rect.x),
                              static_cast<float>(rect.y),
                              static_cast<float>(rect.width),
                              static_cast<float>(rect.height),
                              0,
                              1};
    const VkRect2D scissor{{rect.x, rect.y}, {static_cast<uint32_t>(rect.width), static_cast<uint32_t>(rect.height)}};
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &scissor);
    vkCmdPushConstants(commands, layout_.get(), VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof(Push), &push);
    vkCmdDraw(commands, 3, 1, 0, 0);
}

void PatternPipeline::draw(VkCommandBuffer commands, const PatternPicture& picture) const {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_.get());
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout_.get(), 0, 1, &set_, 0, nullptr);
    const PatternTile& tile = picture.pattern.tile;
    const auto word = [](int value) { return static_cast<uint32_t>(value); };
    drawRect(commands, picture.plot,
             {.originX = picture.originX,
              .originY = picture.originY,
              .cellSize = picture.cellSize,
              .exponent = picture.exponent,
              .first = firstFloat_,
              .rowStride = word(picture.pattern.rowStride),
              .rows = word(tile.rows),
              .columns = word(tile.columns),
              .queryBegin = word(tile.queryBegin),
              .queryEnd = word(tile.queryEnd),
              .keyBegin = word(tile.keyBegin),
              .keyEnd = word(tile.keyEnd),
              .window = word(picture.window),
              .flags = picture.isCausal ? kCausal : 0,
              .largest = picture.largest});
    Push legend{};
    legend.originY = static_cast<float>(picture.legend.y);
    legend.cellSize = static_cast<float>(picture.legend.height);
    legend.flags = kLegend;
    legend.largest = 1;
    drawRect(commands, picture.legend, legend);
}

} // namespace attn::scope
