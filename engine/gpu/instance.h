#pragma once

#include "engine/gpu/device_traits.h"
#include "engine/gpu/vulkan.h"

#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace attn::gpu {

/// Messages of the validation layer. Thread-safe: the layer calls from whichever thread made the call.
class ValidationLog {
public:
    void add(std::string message);
    std::vector<std::string> messages() const;

private:
    mutable std::mutex mutex_;
    std::vector<std::string> messages_;
};

/// Vulkan loaders go through all instances and devices of the process, unlocked, when they look up whose an object is
/// that is named or presented on. Held shared meanwhile, and alone while an instance or a device comes or goes.
std::shared_mutex& loaderLists();

/// A Vulkan instance with, on request, the validation layer and a log of what it says.
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
    /// False when validation was asked for and the layer is not installed.
    bool isValidating() const { return isValidating_; }
    const ValidationLog& log() const { return log_; }

    /// In the loader's order. Drivers older than Vulkan 1.1 are included; their traits are partly empty.
    std::vector<VkPhysicalDevice> physicalDevices() const;

private:
    ValidationLog log_;
    VkInstance instance_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    bool hasDebugUtils_ = false;
    bool isValidating_ = false;
};

} // namespace attn::gpu
