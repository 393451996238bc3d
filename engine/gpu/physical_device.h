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
    std::string unusableBecause{}; ///< empty if the engine can run on it
    uint32_t queueFamily = 0;
    uint64_t maxAllocationBytes = 0; ///< of one buffer, in any heap
    uint32_t mainHeap = 0;           ///< the largest device-local heap
    /// The subgroup size that pipelines request, so that shaders can rely on traits.subgroupSize; 0 if the device has
    /// only one size.
    uint32_t requiredSubgroupSize = 0;
    uint64_t timestampMask = 0; ///< the valid bits of the queue's timestamps
    VkPhysicalDeviceProperties properties{};
    VkPhysicalDeviceMemoryProperties memory{};
    std::vector<std::string> extensions{};

    bool hasExtension(std::string_view name) const;
};

/// Reads a device's properties and decides whether the engine can run on it.
/// @param needsGraphics whether the queue must also draw (for a window's swapchain)
PhysicalDevice describe(VkPhysicalDevice handle, bool needsGraphics);

/// Chooses the device to use: the one with this index or this part of its name (ignoring case), else the first usable
/// one of the best type (discrete, integrated, virtual, software).
/// @return its index
/// @throws Error if none fits, with the choices or the software to install
size_t chooseDevice(const std::vector<PhysicalDevice>& devices, const std::optional<std::string>& wanted);

} // namespace attn::gpu
