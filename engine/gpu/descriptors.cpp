#include "engine/gpu/descriptors.h"

#include <fmt/format.h>

#include <array>
#include <cassert>

namespace attn::gpu {
namespace {

constexpr uint32_t kSetsPerPage = 128;
constexpr uint32_t kDescriptorsPerPage = kSetsPerPage * 6; // of each kind; a dispatch has 3 to 8 in all
constexpr uint32_t kMaxBindings = kDescriptorsPerPage;

} // namespace

void DescriptorPool::addPage() {
    const std::array sizes{VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, kDescriptorsPerPage},
                           VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kDescriptorsPerPage}};
    VkDescriptorPoolCreateInfo create{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    create.maxSets = kSetsPerPage;
    create.poolSizeCount = sizes.size();
    create.pPoolSizes = sizes.data();
    pages_.reserve(pages_.size() + 1);
    VkDescriptorPool pool = VK_NULL_HANDLE;
    check(vkCreateDescriptorPool(context_->device(), &create, nullptr, &pool), "vkCreateDescriptorPool", name_);
    pages_.emplace_back(context_->device(), pool);
    context_->setName(VK_OBJECT_TYPE_DESCRIPTOR_POOL, pool, name_);
}

VkDescriptorSet DescriptorPool::allocateFromPages(VkDescriptorSetLayout layout) {
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    if (!pages_.empty()) {
        allocate.descriptorPool = pages_.back().get();
        const VkResult result = vkAllocateDescriptorSets(context_->device(), &allocate, &set);
        if (result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL) {
            check(result, "vkAllocateDescriptorSets", name_);
            return set;
        }
    }
    addPage();
    allocate.descriptorPool = pages_.back().get();
    check(vkAllocateDescriptorSets(context_->device(), &allocate, &set), "vkAllocateDescriptorSets", name_);
    return set;
}

DescriptorSet DescriptorPool::allocate(const ComputePipeline& pipeline, std::span<const BoundResource> resources) {
    const auto& kinds = pipeline.bindings();
    assert(resources.size() == kinds.size() && resources.size() <= kMaxBindings);
    const VkDescriptorSet set = allocateFromPages(pipeline.setLayout());
    context_->setName(VK_OBJECT_TYPE_DESCRIPTOR_SET, set, pipeline.name());

    std::vector<VkWriteDescriptorSet> writes(resources.size());
    std::vector<VkBufferView> views(resources.size());
    std::vector<VkDescriptorBufferInfo> ranges(resources.size());
    for (uint32_t i = 0; i < resources.size(); ++i) {
        writes[i] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
        writes[i].dstSet = set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        if (kinds[i] == BindingKind::TexelInput) {
            views[i] = std::get<const BufferView*>(resources[i])->get();
            writes[i].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
            writes[i].pTexelBufferView = &views[i];
            continue;
        }
        const auto& range = std::get<BufferRange>(resources[i]);
        assert(range.offsetBytes % context_->traits().minStorageBufferOffsetAlignment == 0);
        const uint64_t size = range.sizeBytes ? range.sizeBytes : range.buffer->sizeBytes() - range.offsetBytes;
        assert(range.offsetBytes + size <= range.buffer->sizeBytes());
        if (size > context_->traits().maxStorageBufferRange) {
            throw Error({fmt::format("binding {} spans {} bytes; {} binds at most {}", i, size, context_->traits().name,
                                     context_->traits().maxStorageBufferRange),
                         pipeline.name(), "shorten the context or choose another device"});
        }
        ranges[i] = {range.buffer->get(), range.offsetBytes, size};
        writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[i].pBufferInfo = &ranges[i];
    }
    vkUpdateDescriptorSets(context_->device(), static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
    return DescriptorSet(set);
}

} // namespace attn::gpu
