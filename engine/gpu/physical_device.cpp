#include "engine/gpu/physical_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace attn::gpu {
namespace {

constexpr uint64_t kSmallStorageRange = 1ull << 30;

DeviceType typeOf(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return DeviceType::Discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return DeviceType::Integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return DeviceType::Virtual;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return DeviceType::Software;
    default:
        return DeviceType::Other;
    }
}

std::vector<std::string> extensionsOf(VkPhysicalDevice device) {
    uint32_t count = 0;
    check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr),
          "vkEnumerateDeviceExtensionProperties");
    std::vector<VkExtensionProperties> properties(count);
    check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, properties.data()),
          "vkEnumerateDeviceExtensionProperties");
    std::vector<std::string> names;
    for (const auto& property : properties) names.emplace_back(property.extensionName);
    return names;
}

/// A queue family that computes and draws, so that it can present its results; if there is none, any that computes.
std::optional<uint32_t> chooseQueueFamily(const std::vector<VkQueueFamilyProperties>& families, bool needsGraphics) {
    const auto find = [&](VkQueueFlags flags) -> std::optional<uint32_t> {
        for (uint32_t i = 0; i < families.size(); ++i) {
            if (families[i].queueCount > 0 && (families[i].queueFlags & flags) == flags) return i;
        }
        return std::nullopt;
    };
    const auto both = find(VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT);
    return both || needsGraphics ? both : find(VK_QUEUE_COMPUTE_BIT);
}

void describeMemory(PhysicalDevice& device) {
    const auto& memory = device.memory;
    for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        const auto& heap = memory.memoryHeaps[i];
        if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && heap.size > device.traits.heapBytes) {
            device.traits.heapBytes = heap.size;
            device.mainHeap = i;
        }
    }
    // A discrete card may expose its memory through the bus (resizable BAR), but the host reads it very slowly:
    // staging is faster.
    const bool sharesMemory = device.traits.isSoftware || device.traits.type == DeviceType::Integrated;
    constexpr VkMemoryPropertyFlags kUnified = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                               VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                               VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        const auto& type = memory.memoryTypes[i];
        if (sharesMemory && (type.propertyFlags & kUnified) == kUnified && type.heapIndex == device.mainHeap) {
            device.traits.hostVisibleDeviceLocal = true;
        }
    }
}

/// Some compilers choose for a shader a narrower subgroup than the device announces, unless told not to.
void describeSubgroupSizeControl(PhysicalDevice& device) {
    if (!device.hasExtension(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) return;
    VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &sizes};
    vkGetPhysicalDeviceProperties2(device.handle, &properties);
    VkPhysicalDeviceSubgroupSizeControlFeaturesEXT control{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &control};
    vkGetPhysicalDeviceFeatures2(device.handle, &features);
    const uint32_t size = device.traits.subgroupSize;
    if (control.subgroupSizeControl && (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
        sizes.minSubgroupSize < sizes.maxSubgroupSize && sizes.minSubgroupSize <= size &&
        size <= sizes.maxSubgroupSize) {
        device.requiredSubgroupSize = size;
    }
}

std::string lowercase(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

std::string listing(const std::vector<PhysicalDevice>& devices) {
    std::string text;
    for (size_t i = 0; i < devices.size(); ++i) {
        text += fmt::format("{}{} \"{}\"", i ? ", " : "", i, devices[i].traits.name);
    }
    return text;
}

std::optional<size_t> findNamed(const std::vector<PhysicalDevice>& devices, const std::string& wanted) {
    size_t index = 0;
    const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
    if (error == std::errc{} && end == wanted.data() + wanted.size()) {
        return index < devices.size() ? std::optional(index) : std::nullopt;
    }
    for (size_t i = 0; i < devices.size(); ++i) {
        if (lowercase(devices[i].traits.name).find(lowercase(wanted)) != std::string::npos) return i;
    }
    return std::nullopt;
}

} // namespace

const char* deviceTypeName(DeviceType type) {
    switch (type) {
    case DeviceType::Discrete:
        return "discrete GPU";
    case DeviceType::Integrated:
        return "integrated GPU";
    case DeviceType::Virtual:
        return "virtual GPU";
    case DeviceType::Software:
        return "software";
    case DeviceType::Other:
        break;
    }
    return "other";
}

bool PhysicalDevice::hasExtension(std::string_view name) const {
    return std::find(extensions.begin(), extensions.end(), name) != extensions.end();
}

PhysicalDevice describe(VkPhysicalDevice handle, bool needsGraphics) {
    PhysicalDevice device;
    device.handle = handle;
    vkGetPhysicalDeviceProperties(handle, &device.properties);
    vkGetPhysicalDeviceMemoryProperties(handle, &device.memory);
    device.extensions = extensionsOf(handle);

    DeviceTraits& traits = device.traits;
    const auto& limits = device.properties.limits;
    traits.name = device.properties.deviceName;
    traits.type = typeOf(device.properties.deviceType);
    traits.apiVersion = device.properties.apiVersion;
    traits.isSoftware = traits.type == DeviceType::Software;
    traits.maxStorageBufferRange = limits.maxStorageBufferRange;
    traits.maxTexelBufferElements = limits.maxTexelBufferElements;
    traits.maxStorageBuffers =
        std::min(limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers);
    traits.minStorageBufferOffsetAlignment = limits.minStorageBufferOffsetAlignment;
    traits.minTexelBufferOffsetAlignment = limits.minTexelBufferOffsetAlignment;
    std::copy_n(limits.maxComputeWorkGroupCount, 3, traits.maxWorkGroupCount.begin());
    traits.maxWorkGroupInvocations = limits.maxComputeWorkGroupInvocations;
    traits.maxSharedMemoryBytes = limits.maxComputeSharedMemorySize;
    traits.maxPushConstantBytes = limits.maxPushConstantsSize;
    describeMemory(device);

    if (traits.apiVersion < VK_API_VERSION_1_2) {
        device.unusableBecause =
            fmt::format("its driver offers Vulkan {}.{}, and 1.2 is needed", VK_API_VERSION_MAJOR(traits.apiVersion),
                        VK_API_VERSION_MINOR(traits.apiVersion));
        return device;
    }

    VkPhysicalDeviceMaintenance3Properties maintenance{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, &maintenance};
    VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, &subgroup};
    VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &driver};
    vkGetPhysicalDeviceProperties2(handle, &properties);
    traits.driver = fmt::format("{} {}", driver.driverName, driver.driverInfo);
    traits.subgroupSize = subgroup.subgroupSize;
    describeSubgroupSizeControl(device);
    device.maxAllocationBytes = maintenance.maxMemoryAllocationSize;
    traits.maxAllocationBytes = std::min(device.maxAllocationBytes, traits.heapBytes);
    traits.prefersSubgroupTiles = traits.isSoftware && traits.subgroupSize == 8;
    // If storage bindings are small, only texel buffers let a shader read a large input as a whole.
    traits.prefersTexelInputs = traits.isSoftware || traits.maxStorageBufferRange < kSmallStorageRange;

    VkPhysicalDeviceVulkan12Features features12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features12};
    vkGetPhysicalDeviceFeatures2(handle, &features);

    uint32_t familyCount = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(handle, &familyCount, nullptr);
    std::vector<VkQueueFamilyProperties> families(familyCount);
    vkGetPhysicalDeviceQueueFamilyProperties(handle, &familyCount, families.data());
    const auto family = chooseQueueFamily(families, needsGraphics);

    constexpr VkSubgroupFeatureFlags kSubgroupOperations =
        VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
    if (!features12.timelineSemaphore) {
        device.unusableBecause = "its driver lacks timeline semaphores";
    } else if ((subgroup.supportedOperations & kSubgroupOperations) != kSubgroupOperations ||
               !(subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)) {
        device.unusableBecause = "its driver lacks subgroup arithmetic or shuffles in compute shaders";
    } else if (!family) {
        device.unusableBecause =
            needsGraphics ? "it has no queue that both computes and draws" : "it has no compute queue";
    }
    if (!family) return device;
    device.queueFamily = *family;
    if (const uint32_t bits = families[*family].timestampValidBits; bits > 0) {
        traits.timestampPeriodNs = limits.timestampPeriod;
        device.timestampMask = ~0ull >> (64 - bits);
    }
    return device;
}

size_t chooseDevice(const std::vector<PhysicalDevice>& devices, const std::optional<std::string>& wanted) {
    if (devices.empty()) {
        throw Error(
            {"no Vulkan device was found", "Vulkan",
             "install a Vulkan driver for your graphics card, or software Vulkan (Debian and Ubuntu: apt install "
             "mesa-vulkan-drivers)"});
    }
    if (wanted) {
        const auto named = findNamed(devices, *wanted);
        if (!named) {
            throw Error(
                {fmt::format("no Vulkan device matches \"{}\"", *wanted), "device", "there is " + listing(devices)});
        }
        if (!devices[*named].unusableBecause.empty()) {
            throw Error({fmt::format("cannot use {}: {}", devices[*named].traits.name, devices[*named].unusableBecause),
                         "device", "update its driver or choose another device"});
        }
        return *named;
    }
    std::optional<size_t> best;
    for (size_t i = 0; i < devices.size(); ++i) {
        if (!devices[i].unusableBecause.empty()) continue;
        if (!best || devices[i].traits.type < devices[*best].traits.type) best = i;
    }
    if (!best) {
        throw Error({fmt::format("no Vulkan device can run the engine: {}: {}", devices[0].traits.name,
                                 devices[0].unusableBecause),
                     "Vulkan",
                     "update the graphics driver, or install software Vulkan (Debian and Ubuntu: apt install "
                     "mesa-vulkan-drivers)"});
    }
    return *best;
}

} // namespace attn::gpu
