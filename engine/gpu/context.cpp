#include "engine/gpu/context.h"

#include "engine/gpu/device_list.h"
#include "engine/gpu/pipeline_facts.h"
#include "engine/system/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace attn::gpu {
namespace {

std::vector<PhysicalDevice> describeAll(const Instance& instance, bool needsGraphics) {
    std::vector<PhysicalDevice> devices;
    for (VkPhysicalDevice handle : instance.physicalDevices()) devices.push_back(describe(handle, needsGraphics));
    return devices;
}

PhysicalDevice choose(const Instance& instance, const Context::Options& options) {
    // Mesa reads the number of threads when an instance first enumerates its devices.
    static std::mutex oneAtATime;
    const std::lock_guard lock(oneAtATime);
    environment::setSoftwareVulkanThreads(options.softwareThreads);
    auto devices = describeAll(instance, !options.instanceExtensions.empty());
    const auto wanted = options.device ? options.device : environment::device();
    PhysicalDevice chosen = std::move(devices[chooseDevice(devices, wanted)]);
    if (options.forceStaging) chosen.traits.hostVisibleDeviceLocal = false;
    return chosen;
}

/// Keeps the driver of a graphics card loaded until the program ends. Each time a process loads NVIDIA's driver again,
/// it loses some resources. After about thirty times the loader finds no driver.
void keepDriverLoaded(const DeviceTraits& traits) {
    if (!traits.isSoftware) [[maybe_unused]]
        static const auto* instance = new Instance(Instance::Options{});
}

VkDevice createDevice(const PhysicalDevice& physical, const std::vector<const char*>& wantedExtensions) {
    std::vector<const char*> extensions = wantedExtensions;
    for (const char* name : wantedExtensions) {
        if (!physical.hasExtension(name)) {
            throw Error({fmt::format("{} lacks the Vulkan extension {}", physical.traits.name, name), "device",
                         "update its driver or choose another device"});
        }
    }
    // Required if a driver maps Vulkan onto another interface (macOS).
    constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";
    if (physical.hasExtension(kPortabilitySubset)) extensions.push_back(kPortabilitySubset);

    if (physical.hasExtension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)) {
        extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    }

    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = physical.queueFamily;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;

    VkPhysicalDeviceVulkan12Features features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    features.timelineSemaphore = VK_TRUE;

    VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroupSize{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
    subgroupSize.subgroupSizeControl = VK_TRUE;
    if (physical.requiredSubgroupSize > 0) {
        extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
        features.pNext = &subgroupSize;
    }

    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR pipelineFacts{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
    if (offersPipelineFacts(physical)) { // costs nothing until a pipeline asks for it
        extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
        pipelineFacts.pipelineExecutableInfo = VK_TRUE;
        pipelineFacts.pNext = features.pNext;
        features.pNext = &pipelineFacts;
    }

    VkDeviceCreateInfo create{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features};
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queue;
    create.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    create.ppEnabledExtensionNames = extensions.data();
    VkDevice device = VK_NULL_HANDLE;
    const std::unique_lock lock(loaderLists());
    check(vkCreateDevice(physical.handle, &create, nullptr, &device), "vkCreateDevice", physical.traits.name);
    return device;
}

} // namespace

std::vector<DeviceInfo> listDevices() {
    std::vector<DeviceInfo> infos;
    std::vector<PhysicalDevice> devices;
    try {
        const Instance instance(Instance::Options{});
        devices = describeAll(instance, false);
        for (size_t i = 0; i < devices.size(); ++i) {
            infos.push_back({static_cast<int>(i), devices[i].traits, devices[i].unusableBecause, false});
        }
        infos.at(chooseDevice(devices, environment::device())).isDefault = true;
    } catch (const Error&) {
        // No driver, or none that the engine can use: return the list as it is.
    }
    return infos;
}

Context::Context(const Options& options)
    : instance_({options.validation || environment::validation(), options.instanceExtensions}),
      physical_(choose(instance_, options)), device_{createDevice(physical_, options.deviceExtensions)} {
    keepDriverLoaded(traits());
    vkGetDeviceQueue(device(), physical_.queueFamily, 0, &queue_);
    if (instance_.hasDebugNames()) {
        setDebugName_ = reinterpret_cast<PFN_vkSetDebugUtilsObjectNameEXT>(
            vkGetInstanceProcAddr(instance(), "vkSetDebugUtilsObjectNameEXT"));
    }
    setName(VK_OBJECT_TYPE_QUEUE, queue_, "queue");
}

Context::OwnedDevice::~OwnedDevice() {
    if (!handle) return;
    const std::unique_lock lock(loaderLists());
    vkDestroyDevice(handle, nullptr);
}

Context::~Context() {
    assert(allocatedBytes_ == 0 && "a Buffer outlives its Context");
    vkDeviceWaitIdle(device());
}

void Context::check(VkResult result, std::string_view call, std::string_view where) const {
    if (result == VK_ERROR_DEVICE_LOST) isLost_ = true;
    gpu::check(result, call, where);
}

uint64_t Context::freeBytes() const {
    const uint64_t held = allocatedBytes_;
    const uint64_t left = traits().heapBytes > held ? traits().heapBytes - held : 0;
    if (!physical_.hasExtension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)) return left;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, &budget};
    vkGetPhysicalDeviceMemoryProperties2(physicalDevice(), &properties);
    const uint64_t most = budget.heapBudget[physical_.mainHeap];
    const uint64_t used = budget.heapUsage[physical_.mainHeap];
    return std::min(left, most > used ? most - used : 0);
}

void Context::setObjectName(VkObjectType type, uint64_t handle, const std::string& name) const {
    if (!setDebugName_) return;
    VkDebugUtilsObjectNameInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
    info.objectType = type;
    info.objectHandle = handle;
    info.pObjectName = name.c_str();
    const std::shared_lock lock(loaderLists());
    setDebugName_(device(), &info); // without a name, messages are only less clear
}

} // namespace attn::gpu
