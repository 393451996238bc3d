#include "engine/gpu/instance.h"

#include "engine/system/address_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace attn::gpu {
namespace {

constexpr size_t kDriverBytes = size_t{160} << 20; ///< of address space that a software driver needs to start

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
constexpr const char* kNoDriverHint = "install a Vulkan driver for your graphics card, or software Vulkan (Debian and "
                                      "Ubuntu: apt install mesa-vulkan-drivers)";

VKAPI_ATTR VkBool32 VKAPI_CALL onMessage(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data, void* log) {
    std::string message = data->pMessage ? data->pMessage : "(no text)";
    std::fprintf(stderr, "Vulkan validation: %s\n", message.c_str());
    static_cast<ValidationLog*>(log)->add(std::move(message));
    return VK_FALSE;
}

std::vector<std::string> extensionsOf(const char* layer) {
    uint32_t count = 0;
    check(vkEnumerateInstanceExtensionProperties(layer, &count, nullptr), "vkEnumerateInstanceExtensionProperties");
    std::vector<VkExtensionProperties> properties(count);
    check(vkEnumerateInstanceExtensionProperties(layer, &count, properties.data()),
          "vkEnumerateInstanceExtensionProperties");
    std::vector<std::string> names;
    for (const auto& property : properties) names.emplace_back(property.extensionName);
    return names;
}

bool contains(const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool isValidationInstalled() {
    uint32_t count = 0;
    check(vkEnumerateInstanceLayerProperties(&count, nullptr), "vkEnumerateInstanceLayerProperties");
    std::vector<VkLayerProperties> layers(count);
    check(vkEnumerateInstanceLayerProperties(&count, layers.data()), "vkEnumerateInstanceLayerProperties");
    return std::any_of(layers.begin(), layers.end(),
                       [](const auto& layer) { return std::strcmp(layer.layerName, kValidationLayer) == 0; });
}

} // namespace

std::shared_mutex& loaderLists() {
    static std::shared_mutex mutex;
    return mutex;
}

void ValidationLog::add(std::string message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
}

std::vector<std::string> ValidationLog::messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
}

Instance::Instance(const Options& options) {
    isValidating_ = options.validation && isValidationInstalled();
    std::vector<std::string> available = extensionsOf(nullptr);
    if (isValidating_) {
        for (auto& name : extensionsOf(kValidationLayer)) available.push_back(std::move(name));
    }

    std::vector<const char*> extensions = options.extensions;
    const auto enableIfAvailable = [&](const char* name) {
        const bool found = contains(available, name);
        if (found) extensions.push_back(name);
        return found;
    };
    hasDebugUtils_ = enableIfAvailable(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    const bool canTuneValidation = isValidating_ && enableIfAvailable(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    const bool canBePortability = enableIfAvailable(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    for (const char* name : options.extensions) {
        if (!contains(available, name)) {
            throw Error({fmt::format("the Vulkan loader has no instance extension {}", name), "Vulkan", kNoDriverHint});
        }
    }

    VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT;
    messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messenger.pfnUserCallback = onMessage;
    messenger.pUserData = &log_;

    const VkValidationFeatureEnableEXT synchronization = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = &synchronization;

    VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.pApplicationName = "Attention Lab";
    application.apiVersion = VK_API_VERSION_1_2;

    VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    create.pApplicationInfo = &application;
    create.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    create.ppEnabledExtensionNames = extensions.data();
    if (canBePortability) create.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    if (isValidating_) {
        create.enabledLayerCount = 1;
        create.ppEnabledLayerNames = &kValidationLayer;
        if (hasDebugUtils_) create.pNext = &messenger;
        if (canTuneValidation) {
            features.pNext = create.pNext;
            create.pNext = &features;
        }
    }
    requireAddressSpace(kDriverBytes);
    const VkResult result = [&] {
        const std::unique_lock lock(loaderLists());
        return vkCreateInstance(&create, nullptr, &instance_);
    }();
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        throw Error({"no Vulkan driver was found", "Vulkan", kNoDriverHint});
    }
    check(result, "vkCreateInstance", "Vulkan");

    if (isValidating_ && hasDebugUtils_) {
        const auto createMessenger = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
            vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
        // Without the messenger the layer still prints; failing to create it must not leak the instance.
        if (!createMessenger || createMessenger(instance_, &messenger, nullptr, &messenger_) != VK_SUCCESS) {
            messenger_ = VK_NULL_HANDLE;
        }
    }
}

Instance::~Instance() {
    if (messenger_ != VK_NULL_HANDLE) {
        const auto destroyMessenger = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
            vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
        destroyMessenger(instance_, messenger_, nullptr);
    }
    const std::unique_lock lock(loaderLists());
    vkDestroyInstance(instance_, nullptr);
}

std::vector<VkPhysicalDevice> Instance::physicalDevices() const {
    uint32_t count = 0;
    VkResult result = vkEnumeratePhysicalDevices(instance_, &count, nullptr);
    // A loader whose every driver failed to start reports this rather than an empty list.
    if (result == VK_ERROR_INITIALIZATION_FAILED) return {};
    check(result, "vkEnumeratePhysicalDevices", "Vulkan");
    std::vector<VkPhysicalDevice> devices(count);
    check(vkEnumeratePhysicalDevices(instance_, &count, devices.data()), "vkEnumeratePhysicalDevices", "Vulkan");
    devices.resize(count);
    return devices;
}

} // namespace attn::gpu
