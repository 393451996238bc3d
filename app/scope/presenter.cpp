#include "app/scope/presenter.h"

#include "engine/core/error.h"
#include "engine/gpu/instance.h"
#include "engine/gpu/physical_device.h"
#include "engine/system/environment.h"

#include <algorithm>
#include <vector>

namespace attn::scope {
namespace {

std::vector<gpu::PhysicalDevice> described(const gpu::Instance& instance, bool needsGraphics) {
    std::vector<gpu::PhysicalDevice> devices;
    for (VkPhysicalDevice handle : instance.physicalDevices()) devices.push_back(gpu::describe(handle, needsGraphics));
    return devices;
}

} // namespace

std::optional<std::string> presenterFor(const DisplayConnection& display, const Window& window,
                                        const std::optional<std::string>& computes, const std::string& wanted) {
    const gpu::Instance instance({.extensions = display.instanceExtensions()});
    const Surface surface(instance.get(), window);
    std::vector<gpu::PhysicalDevice> drawing = described(instance, true);
    if (!wanted.empty()) return std::to_string(gpu::chooseDevice(drawing, wanted));
    const auto canPresent = [&](size_t index) {
        const gpu::PhysicalDevice& device = drawing[index];
        VkBool32 isPossible = VK_FALSE;
        return device.unusableBecause.empty() && device.hasExtension(VK_KHR_SWAPCHAIN_EXTENSION_NAME) &&
               vkGetPhysicalDeviceSurfaceSupportKHR(device.handle, device.queueFamily, surface.get(), &isPossible) ==
                   VK_SUCCESS &&
               isPossible == VK_TRUE;
    };
    const std::vector<gpu::PhysicalDevice> computing = described(instance, false);
    const size_t chosen = gpu::chooseDevice(computing, computes ? computes : environment::device());
    if (canPresent(chosen)) return {};
    std::optional<size_t> best;
    for (size_t index = 0; index < drawing.size(); ++index)
        if (canPresent(index) && (!best || drawing[index].traits.type < drawing[*best].traits.type)) best = index;
    if (!best)
        throw Error(
            {.what = computing[chosen].traits.name + " cannot draw on this display, and neither can another device",
             .where = "--device",
             .hint = "start the program on a display that one of the devices drives (attention-cli devices "
                     "lists them)"});
    return std::to_string(*best);
}

} // namespace attn::scope
