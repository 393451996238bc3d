#include "engine/gpu/commands.h"

#include <cassert>

namespace attn::gpu {
namespace {

struct StageMasks {
    VkPipelineStageFlags stages = 0;
    VkAccessFlags reads = 0;
    VkAccessFlags writes = 0;
};

StageMasks masksOf(Stages stages) {
    const auto has = [&](Stages one) { return (static_cast<uint32_t>(stages) & static_cast<uint32_t>(one)) != 0; };
    StageMasks masks;
    if (has(Stages::Shader)) {
        masks.stages |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
        masks.reads |= VK_ACCESS_SHADER_READ_BIT;
        masks.writes |= VK_ACCESS_SHADER_WRITE_BIT;
    }
    if (has(Stages::Indirect)) {
        masks.stages |= VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
        masks.reads |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
    }
    if (has(Stages::Transfer)) {
        masks.stages |= VK_PIPELINE_STAGE_TRANSFER_BIT;
        masks.reads |= VK_ACCESS_TRANSFER_READ_BIT;
        masks.writes |= VK_ACCESS_TRANSFER_WRITE_BIT;
    }
    if (has(Stages::Host)) {
        masks.stages |= VK_PIPELINE_STAGE_HOST_BIT;
        masks.reads |= VK_ACCESS_HOST_READ_BIT;
        masks.writes |= VK_ACCESS_HOST_WRITE_BIT;
    }
    return masks;
}

} // namespace

CommandBuffer::CommandBuffer(Context& context, std::string name) : name_(std::move(name)), device_(context.device()) {
    VkCommandPoolCreateInfo create{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    create.queueFamilyIndex = context.queueFamily();
    VkCommandPool pool = VK_NULL_HANDLE;
    check(vkCreateCommandPool(device_, &create, nullptr, &pool), "vkCreateCommandPool", name_);
    pool_ = {device_, pool};
    context.setName(VK_OBJECT_TYPE_COMMAND_POOL, pool, name_);

    VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    check(vkAllocateCommandBuffers(device_, &allocate, &handle_), "vkAllocateCommandBuffers", name_);
    context.setName(VK_OBJECT_TYPE_COMMAND_BUFFER, handle_, name_);
}

CommandRecorder::CommandRecorder(CommandBuffer& target) : target_(&target) {
    check(vkResetCommandPool(target.device_, target.pool_.get(), 0), "vkResetCommandPool", target.name_);
    VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    check(vkBeginCommandBuffer(get(), &begin), "vkBeginCommandBuffer", target.name_);
}

void CommandRecorder::bind(const ComputePipeline& pipeline) {
    vkCmdBindPipeline(get(), VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.get());
}

void CommandRecorder::bind(const ComputePipeline& pipeline, const DescriptorSet& set) {
    bind(pipeline);
    const VkDescriptorSet handle = set.get();
    vkCmdBindDescriptorSets(get(), VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout(), 0, 1, &handle, 0, nullptr);
}

void CommandRecorder::push(const ComputePipeline& pipeline, std::span<const uint32_t> words) {
    assert(words.size_bytes() <= pipeline.pushConstantBytes());
    if (words.empty()) return;
    vkCmdPushConstants(get(), pipeline.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                       static_cast<uint32_t>(words.size_bytes()), words.data());
}

void CommandRecorder::dispatch(uint32_t x, uint32_t y, uint32_t z) { vkCmdDispatch(get(), x, y, z); }

void CommandRecorder::dispatchIndirect(const Buffer& counts, uint64_t offsetBytes) {
    assert(offsetBytes % 4 == 0 && offsetBytes + sizeof(VkDispatchIndirectCommand) <= counts.sizeBytes());
    vkCmdDispatchIndirect(get(), counts.get(), offsetBytes);
}

void CommandRecorder::barrier(Stages before, Stages after) {
    const StageMasks from = masksOf(before);
    const StageMasks to = masksOf(after);
    VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    memory.srcAccessMask = from.writes;
    memory.dstAccessMask = to.reads | to.writes;
    vkCmdPipelineBarrier(get(), from.stages, to.stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void CommandRecorder::copy(const Copy& copy) {
    assert(copy.fromOffset + copy.sizeBytes <= copy.from->sizeBytes());
    assert(copy.toOffset + copy.sizeBytes <= copy.to->sizeBytes());
    const VkBufferCopy region{copy.fromOffset, copy.toOffset, copy.sizeBytes};
    vkCmdCopyBuffer(get(), copy.from->get(), copy.to->get(), 1, &region);
}

void CommandRecorder::fill(const Buffer& buffer, uint64_t offsetBytes, uint64_t sizeBytes, uint32_t word) {
    assert(offsetBytes % 4 == 0 && sizeBytes % 4 == 0 && offsetBytes + sizeBytes <= buffer.sizeBytes());
    vkCmdFillBuffer(get(), buffer.get(), offsetBytes, sizeBytes, word);
}

void CommandRecorder::finish() { check(vkEndCommandBuffer(get()), "vkEndCommandBuffer", target_->name()); }

} // namespace attn::gpu
