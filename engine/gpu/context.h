#pragma once

#include "engine/gpu/instance.h"
#include "engine/gpu/physical_device.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace attn::gpu {

/// One Vulkan device with one queue. Everything else in gpu/ is made on a Context and must end before it; that is why a
/// Context cannot be moved. Its members may be used from any thread.
class Context {
public:
    struct Options {
        std::optional<std::string> device{}; ///< part of its name, or its index; else ATTN_DEVICE, else the best
        bool validation = false;             ///< with synchronisation validation; ATTN_VALIDATION=1 asks for it too
        std::vector<const char*>
            instanceExtensions{}; ///< a window's surface extensions: asks for a queue that also draws
        std::vector<const char*> deviceExtensions{};
        /// Worker threads of Mesa's software Vulkan: 0 runs dispatches on the submitting thread, absent leaves its
        /// default. An LP_NUM_THREADS that the user set wins.
        std::optional<int> softwareThreads{};
        /// Copies to and from device memory as a separate card needs it, even where the host could write it directly.
        bool forceStaging = false;
    };

    /// @throws Error if there is no driver, no usable device, or an extension is missing
    explicit Context(const Options& options);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const DeviceTraits& traits() const { return physical_.traits; }

    /// False when validation was asked for and the layer is not installed.
    bool isValidating() const { return instance_.isValidating(); }
    /// What the validation layer said so far; each message also goes to stderr.
    std::vector<std::string> validationMessages() const { return instance_.log().messages(); }

    /// Bytes of device memory that buffers hold now.
    uint64_t allocatedBytes() const { return allocatedBytes_; }
    /// Bytes of device memory that are still to be had, an estimate: other programs use the device too.
    uint64_t freeBytes() const;

    VkInstance instance() const { return instance_.get(); }
    VkPhysicalDevice physicalDevice() const { return physical_.handle; }
    const PhysicalDevice& physical() const { return physical_; }
    VkDevice device() const { return device_.get(); }
    uint32_t queueFamily() const { return physical_.queueFamily; }
    VkQueue queue() const { return queue_; }
    /// Hold it around every use of the queue (submit, present).
    std::mutex& queueMutex() const { return queueMutex_; }

    /// Gives an object the name that validation messages and debuggers show. Does nothing without VK_EXT_debug_utils.
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
};

} // namespace attn::gpu
