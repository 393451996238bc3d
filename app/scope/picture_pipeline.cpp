#include "app/scope/picture_pipeline.h"

#include "engine/core/error.h"
#include "shaders/embedded_shaders.h"

#include <algorithm>
#include <bit>
#include <string>

namespace attn::scope {

/// Mirrors the push constants of shaders/scope/picture.frag.
struct PicturePipeline::Push {
    std::array<float, 4> glow;
    float originX, originY;
    float cellWidth, cellHeight;
    uint32_t first, rowStride, rows, columns;
    uint32_t rowBegin, rowEnd, columnBegin, columnEnd;
    uint32_t window, flags, newest;
    float exponent, low, high;
};

namespace {

constexpr uint32_t kCausal = 1, kLight = 2; // flags
constexpr uint32_t kLegend = 1, kSigned = 2, kExact = 4, kLifts = 8, kVariants = 16;
constexpr uint32_t kFirstSets = 8; // more are made when a view shows more buffers

/// Whether each cell is one float and at least one pixel of the screen.
bool isExact(const Picture& picture) {
    const DevicePixels& pixels = picture.pixels;
    return pixels.rows == pixels.rowEnd - pixels.rowBegin && pixels.columns == pixels.columnEnd - pixels.columnBegin &&
           picture.cellWidth >= 1 && picture.cellHeight >= 1;
}

/// The shader variant for a picture: bits for constants 0 to 3.
uint32_t variantOf(const Picture& picture) {
    return (picture.isSigned ? kSigned : 0) | (isExact(picture) ? kExact : 0) | (picture.exponent != 1 ? kLifts : 0);
}
uint32_t legendOf(const Picture& picture) { return kLegend | (picture.isSigned ? kSigned : 0); }

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

PixelRect PixelRect::within(const PixelRect& other) const {
    const int left = std::max(x, other.x), top = std::max(y, other.y);
    return {left, top, std::min(x + width, other.x + other.width) - left,
            std::min(y + height, other.y + other.height) - top};
}

PicturePipeline::PicturePipeline(gpu::Context& context, VkRenderPass renderPass)
    : context_(context), renderPass_(renderPass), pipelines_(kVariants) {
    makeLayouts();
    makeSets(kFirstSets);
}

void PicturePipeline::makeLayouts() {
    VkDevice device = context_.device();
    const VkDescriptorSetLayoutBinding binding{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_FRAGMENT_BIT,
                                               nullptr};
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = 1;
    set.pBindings = &binding;
    VkDescriptorSetLayout setLayout = VK_NULL_HANDLE;
    gpu::check(vkCreateDescriptorSetLayout(device, &set, nullptr, &setLayout), "vkCreateDescriptorSetLayout",
               "scope/picture");
    setLayout_ = {device, setLayout};

    const VkPushConstantRange push{VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof(Push)};
    VkPipelineLayoutCreateInfo create{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    create.setLayoutCount = 1;
    create.pSetLayouts = &setLayout;
    create.pushConstantRangeCount = 1;
    create.pPushConstantRanges = &push;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    gpu::check(vkCreatePipelineLayout(device, &create, nullptr, &layout), "vkCreatePipelineLayout", "scope/picture");
    layout_ = {device, layout};
}

void PicturePipeline::makeSets(uint32_t count) {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count};
    VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = count;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    VkDescriptorPool made = VK_NULL_HANDLE;
    gpu::check(vkCreateDescriptorPool(context_.device(), &pool, nullptr, &made), "vkCreateDescriptorPool",
               "scope/picture");
    pool_ = {context_.device(), made};
    const std::vector<VkDescriptorSetLayout> layouts(count, setLayout_.get());
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = made;
    allocate.descriptorSetCount = count;
    allocate.pSetLayouts = layouts.data();
    sets_.resize(count);
    gpu::check(vkAllocateDescriptorSets(context_.device(), &allocate, sets_.data()), "vkAllocateDescriptorSets",
               "scope/picture");
}

void PicturePipeline::makePipeline(uint32_t variant) {
    if (pipelines_[variant]) return;
    const auto vertex = loadShader(context_, "scope/picture.vert"),
               fragment = loadShader(context_, "scope/picture.frag");
    VkPipelineShaderStageCreateInfo stages[2]{{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO},
                                              {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO}};
    stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
    stages[0].module = vertex.get();
    stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[1].module = fragment.get();
    stages[0].pName = stages[1].pName = "main";
    std::array<VkBool32, 4> constants{};
    std::array<VkSpecializationMapEntry, constants.size()> entries{};
    for (uint32_t id = 0; id < constants.size(); ++id) {
        constants[id] = (variant >> id & 1) != 0 ? VK_TRUE : VK_FALSE;
        entries[id] = {id, id * static_cast<uint32_t>(sizeof(VkBool32)), sizeof(VkBool32)};
    }
    const VkSpecializationInfo specialisation{static_cast<uint32_t>(entries.size()), entries.data(), sizeof(constants),
                                              constants.data()};
    stages[1].pSpecializationInfo = &specialisation;
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
    create.renderPass = renderPass_;
    VkPipeline pipeline = VK_NULL_HANDLE;
    gpu::check(vkCreateGraphicsPipelines(context_.device(), VK_NULL_HANDLE, 1, &create, nullptr, &pipeline),
               "vkCreateGraphicsPipelines", "scope/picture");
    pipelines_[variant] = {context_.device(), pipeline};
    context_.setName(VK_OBJECT_TYPE_PIPELINE, pipeline, "scope/picture");
}

void PicturePipeline::bind(std::span<const Picture> pictures) {
    const uint64_t alignment = std::max<uint64_t>(context_.traits().minStorageBufferOffsetAlignment, 4);
    struct Range {
        VkBuffer buffer;
        uint64_t begin, size;
        bool operator==(const Range&) const = default;
    };
    std::vector<Range> wanted;
    places_.clear();
    for (const Picture& picture : pictures) {
        const DevicePixels& pixels = picture.pixels;
        const uint64_t begin = pixels.byteOffset / alignment * alignment;
        const Range range{pixels.buffer, begin, pixels.byteOffset + pixels.byteSize - begin};
        const auto found = std::ranges::find(wanted, range);
        places_.push_back({.set = static_cast<size_t>(found - wanted.begin()),
                           .firstFloat = static_cast<uint32_t>((pixels.byteOffset - begin) / sizeof(float))});
        if (found == wanted.end()) wanted.push_back(range);
    }
    if (wanted.size() > sets_.size()) makeSets(static_cast<uint32_t>(std::bit_ceil(wanted.size())));
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].buffer == VK_NULL_HANDLE) continue;
        const VkDescriptorBufferInfo range{wanted[i].buffer, wanted[i].begin, wanted[i].size};
        VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        write.dstSet = sets_[i];
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &range;
        vkUpdateDescriptorSets(context_.device(), 1, &write, 0, nullptr);
    }
}

void PicturePipeline::prepare(VkCommandBuffer commands, std::span<const Picture> pictures) {
    bind(pictures);
    for (const Picture& picture : pictures) {
        makePipeline(variantOf(picture));
        if (!picture.legend.isEmpty()) makePipeline(legendOf(picture));
    }
    VkMemoryBarrier written{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    written.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    written.dstAccessMask = VK_ACCESS_SHADER_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, 0, 1, &written, 0, nullptr, 0, nullptr);
}

void PicturePipeline::drawRect(VkCommandBuffer commands, const PixelRect& rect, const Push& push) const {
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

void PicturePipeline::draw(VkCommandBuffer commands, std::span<const Picture> pictures) const {
    const auto word = [](int value) { return static_cast<uint32_t>(value); };
    for (size_t i = 0; i < pictures.size(); ++i) {
        const Picture& picture = pictures[i];
        const DevicePixels& pixels = picture.pixels;
        if (pixels.buffer == VK_NULL_HANDLE || pixels.rows <= 0 || pixels.columns <= 0) continue;
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines_[variantOf(picture)].get());
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout_.get(), 0, 1, &sets_[places_[i].set],
                                0, nullptr);
        drawRect(commands, picture.plot,
                 {.glow = picture.glow,
                  .originX = picture.originX,
                  .originY = picture.originY,
                  .cellWidth = picture.cellWidth,
                  .cellHeight = picture.cellHeight,
                  .first = places_[i].firstFloat,
                  .rowStride = word(pixels.rowStride),
                  .rows = word(pixels.rows),
                  .columns = word(pixels.columns),
                  .rowBegin = word(pixels.rowBegin),
                  .rowEnd = word(pixels.rowEnd),
                  .columnBegin = word(pixels.columnBegin),
                  .columnEnd = word(pixels.columnEnd),
                  .window = word(picture.window),
                  .flags = (picture.isCausal ? kCausal : 0) | (picture.isLight ? kLight : 0),
                  .newest = word(picture.newest),
                  .exponent = picture.exponent,
                  .low = picture.low,
                  .high = picture.high});
        if (picture.legend.isEmpty()) continue;
        Push legend{};
        legend.originY = static_cast<float>(picture.legend.y);
        legend.cellHeight = static_cast<float>(picture.legend.height);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipelines_[legendOf(picture)].get());
        drawRect(commands, picture.legend, legend);
    }
}

} // namespace attn::scope
