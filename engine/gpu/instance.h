#pragma once

#include "engine/gpu/device_traits.h"
#include "engine/gpu/vulkan.h"

#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace attn::gpu {

/// Collects messages of the validation layer. Thread-safe, because the layer reports on the thread that made the call.
class ValidationLog {
public:
    void add(std::string message);
    std::vector<std::string> messages() const;

private:
    mutable std::mutex mutex_;
    std::vector<std::string> messages_;
};

/// Protects the Vulkan loader's lists of instances and devices. The loader searches them without a lock when an object
/// is named or presented on. Lock it shared for such calls, and exclusively while an instance or a device is created or
/// destroyed.
std::shared_mutex& loaderLists();

/// A Vulkan instance, on request with the validation layer and a log of its messages.
class Instance {
public:
    struct Options {
        bool validation = false;
        std::vector<const char*> extensions{};
    };

    /// @throws Error if there is no Vulkan driver, or an extension is missing
    explicit Instance(const Options& options);
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    VkInstance get() const { return instance_; }
    bool hasDebugNames() const { return hasDebugUtils_; }
    /// False if validation was requested but the layer is not installed.
    bool isValidating() const { return isValidating_; }
    const ValidationLog& log() const { return log_; }

    /// The devices in the loader's order, including those with drivers older than Vulkan 1.1, whose traits are
    /// incomplete.
    std::vector<VkPhysicalDevice> physicalDevices() const;

private:
    ValidationLog log_;
    VkInstance instance_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    bool hasDebugUtils_ = false;
    bool isValidating_ = false;
};

} // namespace attn::gpu
