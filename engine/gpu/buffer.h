#pragma once

#include "engine/gpu/context.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace attn::gpu {

/// Owns one block of device memory, which Context::allocatedBytes counts.
class DeviceMemory {
public:
    DeviceMemory() = default;
    DeviceMemory(Context& context, VkDeviceMemory handle, uint64_t bytes);
    ~DeviceMemory();
    DeviceMemory(DeviceMemory&& other) noexcept;
    DeviceMemory& operator=(DeviceMemory&& other) noexcept;

    VkDeviceMemory get() const { return handle_; }

private:
    Context* context_ = nullptr;
    VkDeviceMemory handle_ = VK_NULL_HANDLE;
    uint64_t bytes_ = 0;
};

/// Where a buffer lives and who may access it directly.
enum class Placement : uint8_t {
    DeviceLocal, ///< fastest for shaders; also mapped where host and device share memory
    Upload,      ///< mapped; the host writes (and should not read), the device reads
    Readback     ///< mapped and cached; the device writes, the host reads
};

/// A range of device memory. Shaders can use it as a storage, texel or indirect buffer, and copies can read and write
/// it. Its contents are undefined at first.
class Buffer {
public:
    struct Options {
        uint64_t sizeBytes = 0;
        Placement placement = Placement::DeviceLocal;
        std::string name = "buffer";
    };

    Buffer() = default; ///< empty; assign to it before use
    /// @throws OutOfMemory with the requested size, the heap's size and the remedy
    Buffer(Context& context, const Options& options);
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;

    VkBuffer get() const { return buffer_.get(); }
    uint64_t sizeBytes() const { return sizeBytes_; }
    const std::string& name() const { return name_; }
    bool isMapped() const { return mapped_ != nullptr; }
    /// The host's view; empty unless isMapped(). Every later submission sees the host's writes. The host may read after
    /// a timeline wait for the commands that wrote, if they are followed by a barrier to the host.
    std::span<std::byte> mapped() const { return {mapped_, mapped_ ? sizeBytes_ : 0}; }
    template <typename T> std::span<T> mappedAs() const {
        return {reinterpret_cast<T*>(mapped_), mapped_ ? sizeBytes_ / sizeof(T) : 0};
    }

private:
    DeviceMemory memory_; // freed after the buffer bound to it
    Owned<VkBuffer, vkDestroyBuffer> buffer_;
    uint64_t sizeBytes_ = 0;
    std::string name_;
    std::byte* mapped_ = nullptr;
};

/// A range of a buffer seen as texels of four floats, for shader inputs.
class BufferView {
public:
    BufferView() = default; ///< empty; assign to it before use
    /// @param offsetBytes a multiple of traits().minTexelBufferOffsetAlignment
    /// @param sizeBytes   a multiple of 16
    /// @throws Error if the range holds more texels than the device can address
    BufferView(Context& context, const Buffer& buffer, uint64_t offsetBytes, uint64_t sizeBytes);

    VkBufferView get() const { return view_.get(); }

private:
    Owned<VkBufferView, vkDestroyBufferView> view_;
};

} // namespace attn::gpu
