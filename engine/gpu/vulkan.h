#pragma once

#include "engine/gpu/device_errors.h"

#include <vulkan/vulkan.h>

#include <string>
#include <string_view>
#include <utility>

namespace attn::gpu {

/// The name of a result: "VK_ERROR_DEVICE_LOST".
std::string_view resultName(VkResult result);

/// Does nothing if the result is a success code.
/// @throws DeviceLost, OutOfMemory or Error otherwise, naming the call and the object
void check(VkResult result, std::string_view call, std::string_view where = {});

/// Owns one object of a device; `Destroy` is its vkDestroy function.
template <typename Handle, auto Destroy> class Owned {
public:
    Owned() = default;
    Owned(VkDevice device, Handle handle) : device_(device), handle_(handle) {}
    ~Owned() { release(); }
    Owned(Owned&& other) noexcept
        : device_(other.device_), handle_(std::exchange(other.handle_, Handle{VK_NULL_HANDLE})) {}
    Owned& operator=(Owned&& other) noexcept {
        if (this != &other) {
            release();
            device_ = other.device_;
            handle_ = std::exchange(other.handle_, Handle{VK_NULL_HANDLE});
        }
        return *this;
    }

    Handle get() const { return handle_; }
    explicit operator bool() const { return handle_ != VK_NULL_HANDLE; }

private:
    void release() noexcept {
        if (handle_ != VK_NULL_HANDLE) Destroy(device_, handle_, nullptr);
    }

    VkDevice device_ = VK_NULL_HANDLE;
    Handle handle_ = VK_NULL_HANDLE;
};

} // namespace attn::gpu
