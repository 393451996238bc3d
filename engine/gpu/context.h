#pragma once

#include "engine/gpu/instance.h"
#include "engine/gpu/physical_device.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::gpu {

/// One Vulkan device with one queue. All other objects in gpu/ belong to a Context and must be destroyed before it, so
/// a Context cannot be moved. Its members may be used from any thread.
class Context {
public:
    struct Options {
        std::optional<std::string> device{}; ///< part of its name, or its index; empty: ATTN_DEVICE, else the best
        bool validation = false;             ///< includes synchronisation validation; ATTN_VALIDATION=1 also enables it
        /// The surface extensions of a window; if there are any, the queue must also be able to draw.
        std::vector<const char*> instanceExtensions{};
        std::vector<const char*> deviceExtensions{};
        /// Worker threads of Mesa's software Vulkan: 0 runs dispatches on the submitting thread, empty keeps its
        /// default. An LP_NUM_THREADS that the user set takes precedence.
        std::optional<int> softwareThreads{};
        /// Uses staging copies, as a separate card needs them, even if the host could write device memory directly.
        bool forceStaging = false;
    };

    /// @throws Error if there is no driver, no usable device, or an extension is missing
    explicit Context(const Options& options);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const DeviceTraits& traits() const { return physical_.traits; }

    /// False if validation was requested but the layer is not installed.
    bool isValidating() const { return instance_.isValidating(); }
    /// The messages of the validation layer so far; each also goes to stderr.
    std::vector<std::string> validationMessages() const { return instance_.log().messages(); }

    /// Does nothing if the result is a success code. Call it with the result of what uses the queue.
    /// @throws as gpu::check(); a lost device is remembered
    void check(VkResult result, std::string_view call, std::string_view where) const;
    bool isLost() const { return isLost_; }

    /// Bytes of device memory that buffers hold now.
    uint64_t allocatedBytes() const { return allocatedBytes_; }
    /// An estimate of the free device memory in bytes; other programs use the device too.
    uint64_t freeBytes() const;

    VkInstance instance() const { return instance_.get(); }
    VkPhysicalDevice physicalDevice() const { return physical_.handle; }
    const PhysicalDevice& physical() const { return physical_; }
    VkDevice device() const { return device_.get(); }
    uint32_t queueFamily() const { return physical_.queueFamily; }
    VkQueue queue() const { return queue_; }
    /// Lock it around every use of the queue (submit, present).
    std::mutex& queueMutex() const { return queueMutex_; }

    /// Names an object for validation messages and debuggers. Does nothing without VK_EXT_debug_utils.
    template <typename Handle> void setName(VkObjectType type, Handle handle, const std::string& name) const {
        setObjectName(type, reinterpret_cast<uint64_t>(handle), name);
    }

private:
    friend class DeviceMemory;

    struct OwnedDevice {
        VkDevice handle = VK_NULL_HANDLE;
        ~OwnedDevice();
        VkDevice get() const { return handle; }
    };

    void setObjectName(VkObjectType type, uint64_t handle, const std::string& name) const;

    Instance instance_;
    PhysicalDevice physical_;
    OwnedDevice device_;
    VkQueue queue_ = VK_NULL_HANDLE;
    mutable std::mutex queueMutex_;
    PFN_vkSetDebugUtilsObjectNameEXT setDebugName_ = nullptr;
    std::atomic<uint64_t> allocatedBytes_ = 0;
    mutable std::atomic<bool> isLost_ = false;
};

} // namespace attn::gpu
