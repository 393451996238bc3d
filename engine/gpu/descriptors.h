#pragma once

#include "engine/gpu/buffer.h"
#include "engine/gpu/pipeline.h"

#include <span>
#include <variant>
#include <vector>

namespace attn::gpu {

/// The part of a buffer that a shader may access.
struct BufferRange {
    const Buffer* buffer = nullptr;
    uint64_t offsetBytes = 0; ///< a multiple of traits().minStorageBufferOffsetAlignment
    uint64_t sizeBytes = 0;   ///< 0: to the end; at most traits().maxStorageBufferRange
};

/// The resource of a binding: a view for TexelInput, a range for Storage.
using BoundResource = std::variant<const BufferView*, BufferRange>;

/// The resources of one dispatch. The set is valid as long as its pool; the resources must outlive the commands that
/// use the set.
class DescriptorSet {
public:
    VkDescriptorSet get() const { return set_; }

private:
    friend class DescriptorPool;
    explicit DescriptorSet(VkDescriptorSet set) : set_(set) {}
    VkDescriptorSet set_;
};

/// Allocates descriptor sets and grows as needed. Its sets become invalid when it is destroyed.
class DescriptorPool {
public:
    explicit DescriptorPool(Context& context, std::string name = "descriptors")
        : context_(&context), name_(std::move(name)) {}

    /// Makes a set. @param resources in the order of the pipeline's bindings, each of the kind that the pipeline
    /// declares
    /// @throws Error if a storage range exceeds what the device can bind
    DescriptorSet allocate(const ComputePipeline& pipeline, std::span<const BoundResource> resources);

private:
    VkDescriptorSet allocateFromPages(VkDescriptorSetLayout layout);
    void addPage();

    Context* context_;
    std::string name_;
    std::vector<Owned<VkDescriptorPool, vkDestroyDescriptorPool>> pages_;
};

} // namespace attn::gpu
