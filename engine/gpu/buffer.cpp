#include "engine/gpu/buffer.h"

#include "engine/system/large_pages.h"

#include <fmt/format.h>

#include <cassert>

namespace attn::gpu {
namespace {

constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
                                      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT;
constexpr VkDeviceSize kTexelBytes = 16;
constexpr const char* kRemedy =
    "open a smaller model, shorten the context, close other programs or choose another device";

struct MemoryWish {
    VkMemoryPropertyFlags required;
    VkMemoryPropertyFlags preferred;
    VkMemoryPropertyFlags avoided;
};

/// The largest upload buffer that shaders read directly at every step. Such a buffer is worth space in the card's small
/// mapped window.
constexpr uint64_t kSmallUploadBytes = 64 << 10;

MemoryWish wishFor(Placement placement, uint64_t sizeBytes, bool isUnified) {
    constexpr VkMemoryPropertyFlags kMapped =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    switch (placement) {
    case Placement::DeviceLocal:
        if (isUnified) return {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kMapped, VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0};
        return {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT};
    case Placement::Upload:
        if (sizeBytes <= kSmallUploadBytes) return {kMapped, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
        return {kMapped, 0, VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
    case Placement::Readback:
        return {kMapped, VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0};
    }
    return {};
}

/// The allowed memory type that has all required properties and scores best on the others. Earlier types win ties, as
/// the driver intends.
uint32_t chooseMemoryType(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowedTypes, const MemoryWish& wish,
                          const std::string& name) {
    int bestScore = -1;
    uint32_t best = 0;
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
        constexpr VkMemoryPropertyFlags kNeedsFeature =
            VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;
        if (!(allowedTypes >> i & 1) || (flags & wish.required) != wish.required || (flags & kNeedsFeature)) continue;
        const int score = ((flags & wish.preferred) == wish.preferred ? 2 : 0) + ((flags & wish.avoided) == 0 ? 1 : 0);
        if (score > bestScore) {
            bestScore = score;
            best = i;
        }
    }
    if (bestScore < 0) throw Error({"the device has no memory type for this buffer", name, "choose another device"});
    return best;
}

std::string megabytes(uint64_t bytes) {
    return bytes < (1u << 20) ? fmt::format("{} bytes", bytes) : fmt::format("{:.0f} MiB", double(bytes) / (1 << 20));
}

OutOfMemory outOfMemory(const Context& context, uint64_t sizeBytes, uint64_t heapBytes, const std::string& name) {
    return OutOfMemory(
        {fmt::format("{} has no room for {}: its memory is {}, of which this program holds {}", context.traits().name,
                     megabytes(sizeBytes), megabytes(heapBytes), megabytes(context.allocatedBytes())),
         name, kRemedy});
}

} // namespace

DeviceMemory::DeviceMemory(Context& context, VkDeviceMemory handle, uint64_t bytes)
    : context_(&context), handle_(handle), bytes_(bytes) {
    context_->allocatedBytes_ += bytes_;
}

DeviceMemory::~DeviceMemory() {
    if (handle_ == VK_NULL_HANDLE) return;
    vkFreeMemory(context_->device(), handle_, nullptr); // unmaps
    context_->allocatedBytes_ -= bytes_;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : context_(other.context_), handle_(std::exchange(other.handle_, VkDeviceMemory{VK_NULL_HANDLE})),
      bytes_(other.bytes_) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
    DeviceMemory taken(std::move(other));
    std::swap(context_, taken.context_);
    std::swap(handle_, taken.handle_);
    std::swap(bytes_, taken.bytes_);
    return *this;
}

Buffer::Buffer(Context& context, const Options& options) : sizeBytes_(options.sizeBytes), name_(options.name) {
    assert(sizeBytes_ > 0);
    const auto& traits = context.traits();
    const auto& memory = context.physical().memory;
    if (options.placement == Placement::DeviceLocal && sizeBytes_ > traits.heapBytes) {
        throw outOfMemory(context, sizeBytes_, traits.heapBytes, name_);
    }
    if (sizeBytes_ > context.physical().maxAllocationBytes) {
        throw OutOfMemory({fmt::format("{} allows {} in one buffer; {} is wanted", traits.name,
                                       megabytes(context.physical().maxAllocationBytes), megabytes(sizeBytes_)),
                           name_, kRemedy});
    }

    VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    create.size = sizeBytes_;
    create.usage = kUsage;
    create.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    VkBuffer buffer = VK_NULL_HANDLE;
    check(vkCreateBuffer(context.device(), &create, nullptr, &buffer), "vkCreateBuffer", name_);
    buffer_ = {context.device(), buffer};
    context.setName(VK_OBJECT_TYPE_BUFFER, buffer, name_);

    VkMemoryRequirements requirements{};
    vkGetBufferMemoryRequirements(context.device(), buffer, &requirements);
    const MemoryWish wish = wishFor(options.placement, sizeBytes_, traits.hostVisibleDeviceLocal);
    const uint32_t type = chooseMemoryType(memory, requirements.memoryTypeBits, wish, name_);
    const uint64_t heapBytes = memory.memoryHeaps[memory.memoryTypes[type].heapIndex].size;
    if (requirements.size > heapBytes) throw outOfMemory(context, sizeBytes_, heapBytes, name_);

    VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.allocationSize = requirements.size;
    allocate.memoryTypeIndex = type;
    VkDeviceMemory handle = VK_NULL_HANDLE;
    const VkResult result = vkAllocateMemory(context.device(), &allocate, nullptr, &handle);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY) {
        throw outOfMemory(context, sizeBytes_, heapBytes, name_);
    }
    check(result, "vkAllocateMemory", name_);
    memory_ = {context, handle, requirements.size};
    context.setName(VK_OBJECT_TYPE_DEVICE_MEMORY, handle, name_);
    check(vkBindBufferMemory(context.device(), buffer, handle, 0), "vkBindBufferMemory", name_);

    if (wish.required & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
        void* address = nullptr;
        check(vkMapMemory(context.device(), handle, 0, VK_WHOLE_SIZE, 0, &address), "vkMapMemory", name_);
        mapped_ = static_cast<std::byte*>(address);
        if (context.traits().isSoftware) useLargePages(mapped_, sizeBytes_);
    }
}

Buffer::Buffer(Buffer&& other) noexcept
    : memory_(std::move(other.memory_)), buffer_(std::move(other.buffer_)),
      sizeBytes_(std::exchange(other.sizeBytes_, 0)), name_(std::move(other.name_)),
      mapped_(std::exchange(other.mapped_, nullptr)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    std::swap(memory_, taken.memory_);
    std::swap(buffer_, taken.buffer_);
    std::swap(sizeBytes_, taken.sizeBytes_);
    std::swap(name_, taken.name_);
    std::swap(mapped_, taken.mapped_);
    return *this;
}

BufferView::BufferView(Context& context, const Buffer& buffer, uint64_t offsetBytes, uint64_t sizeBytes) {
    assert(offsetBytes + sizeBytes <= buffer.sizeBytes());
    assert(offsetBytes % context.traits().minTexelBufferOffsetAlignment == 0 && sizeBytes % kTexelBytes == 0);
    if (sizeBytes / kTexelBytes > context.traits().maxTexelBufferElements) {
        throw Error(
            {fmt::format("a tensor of {} is too large for {}, which reads at most {} at once", megabytes(sizeBytes),
                         context.traits().name, megabytes(context.traits().maxTexelBufferElements * kTexelBytes)),
             buffer.name(), "open a smaller model or choose another device"});
    }
    VkBufferViewCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO};
    create.buffer = buffer.get();
    create.format = VK_FORMAT_R32G32B32A32_SFLOAT;
    create.offset = offsetBytes;
    create.range = sizeBytes;
    VkBufferView view = VK_NULL_HANDLE;
    check(vkCreateBufferView(context.device(), &create, nullptr, &view), "vkCreateBufferView", buffer.name());
    view_ = {context.device(), view};
    context.setName(VK_OBJECT_TYPE_BUFFER_VIEW, view, buffer.name());
}

} // namespace attn::gpu
