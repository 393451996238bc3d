#pragma once

#include "engine/gpu/device_traits.h"
#include "engine/gpu/vulkan.h"

#include <optional>
#include <string>
#include <vector>

namespace attn::gpu {

/// A device as the driver describes it, before anything is created on it.
struct PhysicalDevice {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    DeviceTraits traits{};
    std::string unusableBecause{}; ///< empty when the engine can run on it
    uint32_t queueFamily = 0;
    uint64_t maxAllocationBytes = 0; ///< of one buffer, in any heap
    uint32_t mainHeap = 0;           ///< the largest device-local heap
    /// What pipelines ask for so that shaders can rely on traits.subgroupSize; 0 where the device has one size only.
    uint32_t requiredSubgroupSize = 0;
    uint64_t timestampMask = 0; ///< the bits that the queue's timestamps have
    VkPhysicalDeviceProperties properties{};
    VkPhysicalDeviceMemoryProperties memory{};
    std::vector<std::string> extensions{};

    bool hasExtension(std::string_view name) const;
};

/// @param needsGraphics the queue must also draw (a window's swapchain)
PhysicalDevice describe(VkPhysicalDevice handle, bool needsGraphics);

/// The index of the device to use: the one named by index or by part of its name (case-insensitive), else the first
/// usable of the best type: discrete, integrated, virtual, software.
/// @throws Error if none fits, saying what to install or what the choices are
size_t chooseDevice(const std::vector<PhysicalDevice>& devices, const std::optional<std::string>& wanted);

} // namespace attn::gpu
